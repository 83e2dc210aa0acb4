package agent

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

func TestDecide(t *testing.T) {
	began := `{"type":"init","session_id":"s"}` + "\n"
	spoke := `{"type":"message","role":"assistant","content":"Done."}` + "\n"
	tool := `{"type":"tool_use","tool_name":"write_file","tool_id":"a"}` + "\n"
	returned := `{"type":"tool_result","tool_id":"a","status":"success"}` + "\n"
	asked := `{"type":"model_request","asked":"1"}` + "\n"
	ask := `{"type":"message","role":"assistant","content":"<<<NEED_INPUT>>>\nWhich?\n<<<END_INPUT>>>"}` + "\n"
	broke := `{"type":"message","role":"assistant","content":"<<<NEED_INPUT>>>\nWhich"}` + "\n"
	held := `{"type":"held","command":"git push","dir":"/workspace"}` + "\n"
	good := `{"type":"result","status":"success"}` + "\n"
	bad := func(kind, message string) string {
		return began + `{"type":"result","status":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
	}
	exited := func(code int) sandbox.RunStatus { return sandbox.RunStatus{State: sandbox.RunExited, Code: code} }
	printed := func(code int, stderr string) sandbox.RunStatus {
		st := exited(code)
		st.Stderr = stderr
		return st
	}
	for _, c := range []struct {
		name   string
		out    string
		st     sandbox.RunStatus
		c      cause
		ended  Ended
		detail string // a part of it
	}{
		{"answer", began + spoke + good, exited(0), cause{}, Completed, ""},
		{"answer, then a stop", began + spoke + good, exited(0), cause{stopped: true}, Completed, ""},
		{"answer, then the deadline", began + spoke + good, exited(0), cause{timedOut: true, limit: time.Hour}, Completed, ""},
		{"answer although the output lost its beginning", spoke + good, exited(0), cause{}, Completed, ""},
		{"no word", began + asked + good, exited(0), cause{}, Empty, "empty answer"},
		{"the model was never asked", began + good, exited(0), cause{}, Overflow, "too long for the model"},
		{"the model was not told a result", began + asked + spoke + tool + returned + good, exited(0), cause{}, Overflow, "too long"},
		{"the model said nothing about a result", began + asked + spoke + tool + returned + asked + good, exited(0), cause{}, Completed, ""},
		{"not asked after a question", began + asked + ask + tool + returned + good, exited(0), cause{}, NeedsInput, "question"},
		{"too few results", bad("", "[API Error: Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.]"), exited(144), cause{}, HistoryRefused, "another session"},
		{"turns in another order", bad("", "[API Error: Please ensure that function call turn comes immediately after a user turn or after a function response turn.]"), exited(144), cause{}, HistoryRefused, ""},
		{"no signature", bad("", `[API Error: {\"error\":{\"code\":400,\"message\":\"Function call is missing a thought_signature in functionCall parts.\",\"status\":\"INVALID_ARGUMENT\"}}]`), exited(144), cause{}, HistoryRefused, ""},
		{"another model's signature", bad("", "[API Error: Corrupted thought signature.]"), exited(144), cause{}, HistoryRefused, ""},
		{"an empty message", bad("", "[API Error: * GenerateContentRequest.contents[3].parts: contents.parts must not be empty.]"), exited(144), cause{}, HistoryRefused, ""},
		{"a wrong request", bad("", `[API Error: Invalid JSON payload received. Unknown name \"x\" at 'contents[0]': Cannot find field.]`), exited(144), cause{}, ModelError, "Invalid JSON"},
		{"a wrong schema", bad("", "[API Error: * GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type]"), exited(144), cause{}, ModelError, "should be"},
		{"too long for the API", bad("", "[API Error: The input token count (1048577) exceeds the maximum number of tokens allowed (1048575).]"), exited(1), cause{}, Overflow, "too long"},
		{"no text after tools", began + tool + good, exited(0), cause{}, Empty, "1 tool calls"},
		{"empty answer as the CLI says it", began + `{"type":"error","severity":"error","message":"The model returned an empty response with no text or thoughts. This may be a transient API issue; please try again."}` + "\n" + `{"type":"result","status":"error"}`, exited(0), cause{}, Empty, "empty answer"},
		{"only thoughts", began + `{"type":"error","message":"Model response was truncated because it exceeded the token limit. Try using /compress to free up context space."}` + "\n" + `{"type":"result","status":"error"}`, exited(0), cause{}, Empty, "output limit"},
		{"a loop", began + `{"type":"error","message":"Loop detected, stopping execution"}` + "\n" + good, exited(0), cause{}, TurnLimit, "repeating itself"},
		{"a question", began + ask + good, exited(0), cause{}, NeedsInput, "question"},
		{"a question, then a stop", began + ask + good, exited(0), cause{stopped: true}, NeedsInput, "question"},
		{"a question, then more", began + ask + tool + spoke + good, exited(0), cause{}, NeedsInput, "question"},
		{"a question, then nothing", began + ask + tool + good, exited(0), cause{}, NeedsInput, "question"},
		{"a question without an end", began + ask, exited(0), cause{stopped: true}, Stopped, "as requested"},
		{"a question, then the deadline", began + ask, exited(0), cause{timedOut: true}, TimedOut, "CODING_TIMEOUT_SECONDS"},
		{"a question, then an error", began + ask + `{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"status\":\"UNAVAILABLE\",\"message\":\"x\"}}]"}}`, exited(1), cause{}, Unavailable, "overloaded"},
		{"a question in a loop", began + ask + `{"type":"error","message":"Loop detected, stopping execution"}` + "\n" + good, exited(0), cause{}, TurnLimit, "repeating itself"},
		{"a question that broke off", began + broke + good, exited(0), cause{}, QuestionCut, "broke off in the middle of a question"},
		{"a question that broke off, and more", began + broke + tool + spoke + good, exited(0), cause{}, Completed, ""},
		{"a command that needs approval", began + tool + held + good, exited(0), cause{}, NeedsApproval, "needs your approval"},
		{"a command that needs approval, and text", began + tool + held + spoke + good, exited(0), cause{}, NeedsApproval, "needs your approval"},
		{"a command that needs approval, and a question", began + ask + tool + held + ask + good, exited(0), cause{}, NeedsApproval, "needs your approval"},
		{"a command that needs approval, and no text", began + tool + held + `{"type":"error","message":"The model returned an empty response with no text or thoughts."}` + "\n" + `{"type":"result","status":"error"}`, exited(0), cause{}, NeedsApproval, "needs your approval"},
		{"a command that needs approval, then a stop", began + tool + held, exited(0), cause{stopped: true}, Stopped, "as requested"},
		{"a command that needs approval, then the container went down", began + tool + held, sandbox.RunStatus{State: sandbox.RunInterrupted}, cause{}, Interrupted, "went down"},
		{"deadline passed", began + tool, exited(0), cause{timedOut: true, limit: 40 * time.Minute}, TimedOut, "after 40 minutes (CODING_TIMEOUT_SECONDS)"},
		{"deadline passed, start unknown", began, exited(0), cause{timedOut: true}, TimedOut, "when its time was up (CODING_TIMEOUT_SECONDS)"},
		{"stop requested", began + tool, exited(137), cause{stopped: true}, Stopped, "as requested"},
		{"stopped from elsewhere: SIGTERM leaves 0", began + tool, exited(0), cause{}, Stopped, "stopped"},
		{"stopped from elsewhere before it started", "", exited(143), cause{}, Stopped, "stopped"},
		{"killed", began + tool, sandbox.RunStatus{State: sandbox.RunExited, Code: 137, Signal: "killed"}, cause{}, OutOfMemory, "SANDBOX_MEMORY"},
		{"out of memory by the counter", began, sandbox.RunStatus{State: sandbox.RunExited, Code: 1, OOM: true}, cause{}, OutOfMemory, "SANDBOX_MEMORY"},
		{"out of the heap", began, printed(134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"), cause{}, OutOfMemory, "SANDBOX_MEMORY"},
		{"a child out of memory, and an answer", began + spoke + good, sandbox.RunStatus{State: sandbox.RunExited, OOM: true}, cause{}, Completed, ""},
		{"the container went down", began + tool, sandbox.RunStatus{State: sandbox.RunInterrupted}, cause{}, Interrupted, "went down"},
		{"the container is another", "", sandbox.RunStatus{State: sandbox.RunNone}, cause{}, Interrupted, "recreated"},
		{"session gone", "", printed(42, "YOLO mode\nError resuming session: Invalid session identifier \"x\".\n"), cause{}, SessionGone, "conversation"},
		{"session already exists", "", printed(42, "Error starting session: Session ID \"x\" already exists."), cause{}, SessionGone, "conversation"},
		{"bad input", "", printed(42, "Error: what is this?"), cause{}, Crashed, "exit code 42, run R"},
		{"no credentials", "", exited(41), cause{}, NoAuth, "GEMINI_API_KEY"},
		{"turn limit", bad("FatalTurnLimitedError", "Reached max session turns for this session."), exited(53), cause{}, TurnLimit, "turn limit"},
		{"turn limit by the code alone", "", exited(53), cause{}, TurnLimit, "turn limit"},
		{"cancelled", bad("FatalCancellationError", "Operation cancelled."), exited(130), cause{}, Stopped, "stopped"},
		{"no CLI", "", exited(127), cause{}, Crashed, "./deploy/image/build"},
		{"broke off", began, exited(7), cause{}, Crashed, "exit code 7, run R"},
		{"never started", "", exited(0), cause{}, Crashed, "exit code 0, run R"},
		{"key", bad("unknown", `[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API key.\",\"status\":\"INVALID_ARGUMENT\",\"details\":[{\"reason\":\"API_KEY_INVALID\"}]}}]`), exited(144), cause{}, NoAuth, "rejected the key"},
		{"forbidden, by the code", bad("unknown", "[API Error: no]"), exited(147), cause{}, NoAuth, "rejected the key"},
		{"too many requests", bad("unknown", `[API Error: You exceeded your current quota, please check your plan and billing details.]\nPlease wait and try again later.`), exited(173), cause{}, Unavailable, "429"},
		{"too many requests, by the code", bad("unknown", `[API Error: slow down]`), exited(173), cause{}, Unavailable, "429"},
		{"overloaded", bad("unknown", `[API Error: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}]`), exited(247), cause{}, Unavailable, "overloaded"},
		{"overloaded, by the code", bad("unknown", "[API Error: oops]"), exited(244), cause{}, ModelError, "overloaded"},
		{"no such model", bad("unknown", "[API Error: models/x is not found for API version v1beta]"), exited(1), cause{}, ModelGone, "GEMINI_MODEL"},
		{"no such model, by what it printed", bad("unknown", "[API Error: gone]"), printed(1, "ModelNotFoundError: gone"), cause{}, ModelGone, "GEMINI_MODEL"},
		{"overloaded for long, by the code", bad("unknown", "[API Error: oops]"), exited(247), cause{}, Unavailable, "overloaded"},
		{"closed by the gateway", bad("unknown", `[API Error: {\"error\":{\"code\":403,\"message\":\"gateway: the model takes no requests until 2026-11-26T14:32:00Z\",\"status\":\"PERMISSION_DENIED\"}}]`), exited(147), cause{}, Unavailable, "no more requests"},
		{"no quota at all", bad("unknown", "[API Error: Quota exceeded for metric: free_tier_requests, limit: 0, model: m]"), exited(173), cause{}, ModelGone, "has no quota"},
		{"no way to the API", bad("unknown", `[API Error: {\"error\":{\"code\":503,\"message\":\"gateway: cannot reach the model's server\",\"status\":\"UNAVAILABLE\"}}]`), exited(247), cause{}, ModelError, "cannot be reached"},
		{"garbage", bad("unknown", "[API Error: Bad control character in string literal in JSON at position 22]"), exited(1), cause{}, ModelError, "invalid response"},
		{"cut stream", bad("unknown", "[API Error: terminated]"), exited(1), cause{}, ModelError, "connection"},
		{"too long", bad("unknown", "[API Error: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).]"), exited(144), cause{}, Overflow, "too long"},
		{"blocked", began + `{"type":"error","message":"The model response was blocked due to safety settings."}` + "\n" + `{"type":"result","status":"error"}`, exited(0), cause{}, ModelError, "filters"},
		{"full disk", bad("no_space_left", "Error executing tool write_file: No space left on device"), exited(54), cause{}, Crashed, "no space left"},
		{"an error of no known kind", bad("unknown", `[API Error: {\"error\":{\"code\":400,\"message\":\"Bad thing.\",\"status\":\"INVALID_ARGUMENT\"}}]`), exited(144), cause{}, ModelError, "error: Bad thing. (INVALID_ARGUMENT)"},
		{"an error without a message", began + `{"type":"result","status":"error"}`, exited(1), cause{}, ModelError, "without giving a reason"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := read(t, c.out, 0)
			ended, detail := decide(Task{Run: "R"}, c.st, s, c.c)
			if ended != c.ended || !strings.Contains(detail, c.detail) {
				t.Errorf("= %s, %q; want %s, … %q …", ended, detail, c.ended, c.detail)
			}
			o := conclude(Task{Run: "R"}, c.st, s, c.c)
			if (o.Signal.Kind == Asked) != (ended == NeedsInput) || (o.Signal.Kind == CutOff) != (ended == QuestionCut) || (o.Held != nil) != (ended == NeedsApproval) {
				t.Errorf("%s with %+v, %+v", ended, o.Signal, o.Held)
			}
			if (detail == "") != (ended == Completed) || strings.Contains(detail, "\n") {
				t.Errorf("%s with the detail %q", ended, detail)
			}
		})
	}
}

// If a stream is cut while no bot is there to forward it, the API is not to blame: the task must be resumed.
func TestDecideCutWhileAway(t *testing.T) {
	s, _ := read(t, `{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}`, 0)
	if ended, _ := decide(Task{Attached: true}, sandbox.RunStatus{State: sandbox.RunExited, Code: 1}, s, cause{}); ended != Interrupted {
		t.Errorf("= %s, want %s", ended, Interrupted)
	}
}

func TestSpoken(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 3 * time.Second: "3 seconds", 89 * time.Second: "89 seconds",
		2400 * time.Second: "40 minutes", 90 * time.Second: "2 minutes", 3 * time.Hour: "180 minutes",
	} {
		if got := spoken(d); got != want {
			t.Errorf("spoken(%v) = %q, want %q", d, got, want)
		}
	}
}
