package agent

import "slices"

// filters are the reasons for which the API holds back an answer, or blocks a prompt. The same task meets them again.
// Source: https://ai.google.dev/api/generate-content
var filters = []string{
	"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
	"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
}

// WithFinish returns the outcome of a run whose last answer ended for this reason of the API; "" = unknown. Use it
// after WithPrompt. Gemini CLI shows an answer that was cut like a whole one, and does not say why there is none.
func (o Outcome) WithFinish(reason string) Outcome {
	filtered := slices.Contains(filters, reason)
	switch {
	case reason == "", reason == "STOP", reason == "FINISH_REASON_UNSPECIFIED":
	case o.Ended == Completed:
		o.Cut = cut(reason, filtered)
	case o.Ended != Empty && o.Ended != ModelError:
	case filtered:
		o.Ended = ModelError
		o.Detail = "The model's filter (" + reason +
			") let no answer through. Sending the task again will not help: rephrase it." + o.kept()
	case o.Ended == Empty && reason == "MAX_TOKENS":
		o.Detail = limitSay + o.kept()
	case o.Ended == Empty:
		o.Detail = "The model gave no answer (" + reason + "). Send the task again, or rephrase it." + o.kept()
	}
	return o
}

// cut says why an answer with text is not whole. A broken call is none of the answer's text.
func cut(reason string, filtered bool) string {
	switch {
	case filtered:
		return "The model's filter (" + reason + ") cut this answer."
	case reason == "MAX_TOKENS":
		return "The model stopped here because the answer reached its output limit. Say “go on” to get the rest."
	case reason == "MALFORMED_FUNCTION_CALL", reason == "UNEXPECTED_TOOL_CALL":
		return ""
	}
	return "The model broke this answer off (" + reason + "). Say “go on” to get the rest."
}

// kept says where the work is, if there may be some.
func (o Outcome) kept() string {
	if len(o.Tools) == 0 {
		return ""
	}
	return " The work so far is in /workspace."
}
