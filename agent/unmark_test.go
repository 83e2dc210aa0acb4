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
		{"in a code span", "Write `<<<NEED_INPUT>>>` or ``a ` <<<CONTEXT>>>``, not <<<END_INPUT>>>.", "Write `<<<NEED_INPUT>>>` or ``a ` <<<CONTEXT>>>``, not ."},
		{"behind a lone backtick", "a ` b <<<CONTEXT>>>\n``<<<CONTEXT>>>`", "a ` b\n`` `"},
		{"in a fence", "```\n" + whole + "```\n" + whole, "```\n" + whole + "```\nWhich?\nTwo found.\n"},
		{"in a fence that is left open", "~~~ md\n" + whole, "~~~ md\n" + whole},
		{"in a block quote", "> " + needInput + "\n" + needInput + "\n  > " + endInput, "> " + needInput + "\n  > " + endInput},
		{"indented code", "So:\n\n    " + needInput + "\n\t" + endInput + "\nq", "So:\n\n    " + needInput + "\n\t" + endInput + "\nq"},
		{"indented text", "So:\n    " + needInput + "\nq", "So:\nq"},
		{"a fence behind a marker", "<<<END_INPUT>>>```\n```\n<<<CONTEXT>>>\n```", "```\n```\n```"},
		{"one in another", "<<<NEED_<<<END_INPUT>>>INPUT>>>", "<<<NEED_ INPUT>>>"},
		{"cut", "So:\n<<<NEED_IN", "So:\n"},
		{"cut behind another", "q <<<END_INPUT>>> <<<END_IN<<<END_INP ", "q "},
		{"cut on its line", "q <<<CONTE", "q "},
		{"no marker yet", "So: <<<", "So: <<<"},
		{"something else", "<<<NEEDLE", "<<<NEEDLE"},
		{"other letters", "<<<need_input>>>", "<<<need_input>>>"},
		{"cut within code", "```\n<<<NEED_IN", "```\n<<<NEED_IN"},
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
		if line := rawMarker(Unmark(text + "<<<")); line != "" {
			t.Errorf("%.40q", line)
		}
	}
}

// rawMarker returns a line with a marker that is not in code or in a quotation, or "". It is simpler than Unmark, and
// lenient where a line has code in it.
func rawMarker(text string) string {
	var open fence
	for line := range strings.Lines(text) {
		f := fenceOf([]byte(line))
		switch {
		case open.n > 0:
			if open.closedBy(f) {
				open = fence{}
			}
		case f.n > 0:
			open = f
		default:
			for _, mark := range markers {
				before, _, found := strings.Cut(line, mark)
				if found && !strings.Contains(before, "`") && !isQuoted(line) && !isIndented(line) {
					return line
				}
			}
		}
	}
	return ""
}
