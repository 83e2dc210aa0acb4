package agent

import (
	"strings"
	"testing"
)

func TestWithFinish(t *testing.T) {
	for _, c := range []struct {
		ended  Ended
		reason string
		tools  bool
		want   Ended
		said   string // a part of Cut or Detail; "" = both stay
	}{
		{Completed, "", false, Completed, ""},
		{Completed, "STOP", false, Completed, ""},
		{Completed, "MAX_TOKENS", true, Completed, "output limit. Say “go on”"},
		{Completed, "SAFETY", false, Completed, "filter (SAFETY) cut"},
		{Completed, "OTHER", false, Completed, "off (OTHER)"},
		{Completed, "MALFORMED_FUNCTION_CALL", false, Completed, ""},
		{Empty, "STOP", false, Empty, ""},
		{Empty, "PROHIBITED_CONTENT", false, ModelError, "(PROHIBITED_CONTENT) let no answer through. Sending the task again will not help"},
		{Empty, "BLOCKLIST", true, ModelError, "rephrase it. The work so far is in /workspace."},
		{Empty, "MAX_TOKENS", false, Empty, "output limit. Ask for it in smaller parts"},
		{Empty, "UNEXPECTED_TOOL_CALL", false, Empty, "no answer (UNEXPECTED_TOOL_CALL)"},
		{ModelError, "JAILBREAK", false, ModelError, "(JAILBREAK) let no answer"},
		{ModelError, "MALFORMED_FUNCTION_CALL", false, ModelError, ""},
		{Overflow, "MAX_TOKENS", false, Overflow, ""},
		{NeedsInput, "SAFETY", false, NeedsInput, ""},
		{QuestionCut, "MAX_TOKENS", false, QuestionCut, ""},
		{NeedsApproval, "SAFETY", false, NeedsApproval, ""},
		{Stopped, "SAFETY", false, Stopped, ""},
	} {
		o := Outcome{Ended: c.ended, Text: "text", Session: "s"}
		if c.ended != Completed {
			o.Detail = "Before."
		}
		if c.tools {
			o.Tools = map[string]int{"write_file": 1}
		}
		got := o.WithFinish(c.reason)
		changed := got.Cut != "" || got.Detail != o.Detail
		if got.Ended != c.want || got.Text != "text" || got.Session != "s" || changed != (c.said != "") || !strings.Contains(got.Cut+got.Detail, c.said) || (got.Cut != "") && got.Ended != Completed {
			t.Errorf("%s, %s: %+v", c.ended, c.reason, got)
		}
	}
}
