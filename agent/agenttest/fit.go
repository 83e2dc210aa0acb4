package agenttest

import (
	"encoding/json"
	"slices"
	"strings"
)

// fit returns the smallest value that matches a schema: required properties only, false, 0, the first value of an enum.
// Gemini CLI reads it as "the user speaks next" and "no loop". Types occur in both spellings (OBJECT, object).
func fit(schema json.RawMessage) any {
	var s any
	if json.Unmarshal(schema, &s) != nil {
		return map[string]any{}
	}
	return fitValue(s, 0)
}

const maxDepth = 20

func fitValue(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxDepth {
		return map[string]any{}
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return enum[0]
	}
	typ, _ := s["type"].(string)
	switch strings.ToLower(typ) {
	case "string":
		return "scripted"
	case "boolean":
		return false
	case "number", "integer":
		return 0
	case "array":
		return []any{}
	case "null":
		return nil
	}
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required, listed := s["required"].([]any)
	for name, p := range props {
		if !listed || slices.Contains(required, any(name)) {
			out[name] = fitValue(p, depth+1)
		}
	}
	return out
}
