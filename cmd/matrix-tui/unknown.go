package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// settingNames are all names that are read: the settings, X_FILE for secrets.
var settingNames = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		names = append(names, f.Tag.Get("env"))
	}
	for _, name := range secretNames {
		names = append(names, name+"_FILE")
	}
	slices.Sort(names)
	return names
}()

// unknownSettings names the variables that look like settings and are none,
// each with the setting that it is closest to. source says where they stand.
func unknownSettings(vars map[string]string, source string) (problems []string) {
	for name := range vars {
		if closest, isOurs := misspelt(name); isOurs {
			problems = append(problems, fmt.Sprintf("%s (in %s) is not a setting; did you mean %s?", name, source, closest))
		}
	}
	slices.Sort(problems)
	return problems
}

// misspelt tells whether a variable looks like a setting without being one: by
// its prefix, or because a slip of the pen leads to it. Variables of the
// scripts (MATRIX_TUI_…) and of Gemini CLI's own surroundings (GEMINI_CLI…,
// which its shell tool sets) are let through.
func misspelt(name string) (closest string, looksLikeOurs bool) {
	if slices.Contains(settingNames, name) || strings.HasPrefix(name, "MATRIX_TUI_") ||
		name == "GEMINI_CLI" || strings.HasPrefix(name, "GEMINI_CLI_") {
		return "", false
	}
	best := 1 << 30
	for _, known := range settingNames {
		if d := distance(strings.ToUpper(name), known); d < best {
			best, closest = d, known
		}
	}
	for _, prefix := range []string{"MATRIX_", "GEMINI_", "SANDBOX_"} {
		if strings.HasPrefix(name, prefix) {
			return closest, true
		}
	}
	// Two slips in a short name lead to other programs' variables (NPM_TOKEN).
	return closest, best <= 1 || best == 2 && len(closest) >= 12
}

// distance counts the slips (a letter too much, too few, another one, two
// swapped) between two names.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
