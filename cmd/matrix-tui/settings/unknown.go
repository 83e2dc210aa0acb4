package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"matrix-tui/bot/text"
)

// settingNames are all names that are read: the settings, and X_FILE for secrets.
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

// unknownSettings lists variables that look like settings but are not, each with the
// closest setting. source says where they are set.
func unknownSettings(vars map[string]string, source string) (problems []string) {
	for name := range vars {
		if closest, isOurs := misspelt(name); isOurs {
			problems = append(problems, fmt.Sprintf("%s (in %s) is not a setting; did you mean %s?", name, source, closest))
		}
	}
	slices.Sort(problems)
	return problems
}

// misspelt reports whether a variable looks like a setting without being one: by its
// prefix, or because it is a typo away from one. Variables of the scripts
// (MATRIX_TUI_…) and of Gemini CLI (GEMINI_CLI…, which its shell tool sets) are
// ignored.
func misspelt(name string) (closest string, looksLikeOurs bool) {
	if slices.Contains(settingNames, name) || strings.HasPrefix(name, "MATRIX_TUI_") ||
		name == "GEMINI_CLI" || strings.HasPrefix(name, "GEMINI_CLI_") {
		return "", false
	}
	best := 1 << 30
	for _, known := range settingNames {
		d := text.Distance(strings.ToUpper(name), known)
		if d < best || d == best && strings.HasPrefix(known, name) { // an abbreviation is the better guess
			best, closest = d, known
		}
	}
	for _, prefix := range []string{"MATRIX_", "GEMINI_", "SANDBOX_"} {
		if strings.HasPrefix(name, prefix) {
			return closest, true
		}
	}
	// Two typing errors in a short name lead to other programs' variables (NPM_TOKEN).
	return closest, best <= 1 || best == 2 && len(closest) >= 12
}
