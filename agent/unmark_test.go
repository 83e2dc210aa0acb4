package agent

import (
	"strings"
	"testing"
)

func TestUnmark(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"nothing to do", " a <<b>> `c`\n\n", " a <<b>> `c`\n\n"},
		{"a question", "So:\n" + whole + "I wait.", "So:\nWhich?\nTwo found.\nI wait."},
		{"without a question", "<<<NEED_INPUT>>>\n\n<<<CONTEXT>>>\nc\n<<<END_INPUT>>>\nx", "\nc\nx"},
		{"markers alone", "  <<<NEED_INPUT>>>\r\n<<<END_INPUT>>>", ""},
		{"bullets", "- <<<NEED_INPUT>>>\n- q\n* <<<END_INPUT>>>", "- q\n"},
		{"on one line", "So: <<<NEED_INPUT>>> q <<<CONTEXT>>>c<<<END_INPUT>>>  I wait.\n", "So: q c I wait.\n"},
		{"in a sentence", "I would write <<<NEED_INPUT>>>, q, <<<END_INPUT>>>.", "I would write , q, ."},
		{"in a fence", "```\n# notes\n" + whole + "```\n" + whole, "```\n# notes\n" + whole + "```\nWhich?\nTwo found.\n"},
		{"in a fence that is left open", "~~~ md\n# notes\n" + whole, "~~~ md\n# notes\n" + whole},
		{"in a block quote", "> " + needInput + "\n" + needInput + "\n  > " + endInput, "> " + needInput + "\n  > " + endInput},
		{"cut within code", "```\nls\n<<<NEED_IN", "```\nls\n<<<NEED_IN"},
		{"indented text", "So:\n    " + needInput + "\nq", "So:\nq"},
		{"one in another", "<<<NEED_<<<END_INPUT>>>INPUT>>>", "<<<NEED_ INPUT>>>"},
		{"cut", "So:\n<<<NEED_IN", "So:\n"},
		{"cut behind another", "q <<<END_INPUT>>> <<<END_IN<<<END_INP ", "q "},
		{"cut on its line", "q <<<CONTE", "q "},
		{"no marker yet", "So: <<<", "So: <<<"},
		{"something else", "<<<NEEDLE", "<<<NEEDLE"},
		{"other letters", "<<<need_input>>>", "<<<need_input>>>"},
	} {
		if got := Unmark(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whoever writes the text does not decide how long this takes.
func TestUnmarkIsBounded(t *testing.T) {
	var runs strings.Builder
	for n := 1; runs.Len() < 1<<20; n++ {
		runs.WriteString(strings.Repeat("`", n) + " ")
	}
	for _, text := range []string{runs.String(), strings.Repeat("<<<NEED_", 1<<17) + strings.Repeat("INPUT>>>", 1<<17), strings.Repeat("<<<NEED_IN", 1<<17), strings.Repeat("` ", 1<<19)} {
		if got := Unmark(text + "<<<"); hasMarker(got) {
			t.Errorf("%.40q", got)
		}
	}
}
