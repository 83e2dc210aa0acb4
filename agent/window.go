package agent

import "strings"

// window returns how many tokens a prompt for the model may have, as Gemini CLI knows it.
func window(model string) int64 {
	if strings.HasPrefix(model, "gemma-4-") {
		return 256_000
	}
	return 1 << 20
}

// WithPrompt returns the outcome of a run on the model whose last prompt had so many tokens; 0 = unknown. A model that
// gives no text, or stops in the middle, has no room for it if the prompt leaves less than a sixteenth of the window:
// the models answer with up to 65,536 tokens. Gemini CLI itself stops only when the next prompt does not fit, see
// stream.unasked.
func (o Outcome) WithPrompt(model string, tokens int64) Outcome {
	if limit := window(model); o.Ended == Empty && tokens > limit-limit/16 {
		o.Ended, o.Detail, o.Session = Overflow, overflowSay, ""
	}
	return o
}
