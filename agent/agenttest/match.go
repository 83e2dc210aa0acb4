package agenttest

import (
	"strconv"
	"strings"
)

// match reports whether the rule answers the request, and returns the submatches.
func (r *Rule) match(v view) (groups []string, ok bool) {
	if v.json != r.JSON || (v.digest && r.When == nil) {
		return nil, false
	}
	if (r.System != nil && !r.System.MatchString(v.system)) || (r.Sent != nil && !r.Sent.MatchString(v.all)) {
		return nil, false
	}
	if r.Model != nil && !r.Model.MatchString(v.model) {
		return nil, false
	}
	toolTurn := v.tool != ""
	if r.Tool != nil {
		if !toolTurn || !r.Tool.MatchString(v.tool) {
			return nil, false
		}
		groups = r.Tool.FindStringSubmatch(v.tool)
	}
	if r.When != nil {
		if (toolTurn && r.Tool == nil) || !r.When.MatchString(v.user) {
			return nil, false
		}
		groups = r.When.FindStringSubmatch(v.user)
	}
	return groups, true
}

// choose returns the index of the first rule that matches and is not used up, or -1.
func choose(rules []Rule, used []int, v view) (index int, groups []string) {
	for i := range rules {
		if r := &rules[i]; r.Times == 0 || used[i] < r.Times {
			if g, ok := r.match(v); ok {
				return i, g
			}
		}
	}
	return -1, nil
}

// expand replaces each {{n}} by its submatch.
func expand(s string, groups []string) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	return submatch.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(m[2 : len(m)-2])
		if n >= len(groups) {
			return m
		}
		return groups[n]
	})
}

// expandAny does the same in all strings of a YAML value; it returns a copy.
func expandAny(v any, groups []string) any {
	switch v := v.(type) {
	case string:
		return expand(v, groups)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expandAny(v[i], groups)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = expandAny(v[k], groups)
		}
		return out
	}
	return v
}
