package agent

import "testing"

func TestWithPrompt(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  string
		ended  Ended
		tokens int64
		want   Ended
	}{
		{"unknown", "gemini-3.1-pro", Empty, 0, Empty},
		{"short", "gemini-3.1-pro", Empty, 20_000, Empty},
		{"enough room for an answer", "gemini-3.1-pro", Empty, 1_048_576 - 65_536, Empty},
		{"less", "gemini-3.1-pro", Empty, 1_048_576 - 65_535, Overflow},
		{"no room", "", Empty, 1_048_576, Overflow},
		{"a smaller window", "gemma-4-31b-it", Empty, 250_000, Overflow},
		{"short for a smaller window", "gemma-4-31b-it", Empty, 200_000, Empty},
		{"an answer", "gemini-3.1-pro", Completed, 1_048_000, Completed},
		{"another error", "gemini-3.1-pro", ModelError, 1_048_000, ModelError},
	} {
		o := Outcome{Ended: c.ended, Detail: "x", Session: "s"}.WithPrompt(c.model, c.tokens)
		changed := o.Ended != c.ended
		if o.Ended != c.want || (o.Session == "") != changed || (o.Detail == overflowSay) != changed {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}
