package agent

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

// Exit codes of Gemini CLI, from its ExitCodes. After an API error it exits with the HTTP status instead, of which the
// system keeps the lowest eight bits.
const (
	exitNoAuth    = 41
	exitBadInput  = 42
	exitConfig    = 52
	exitTurnLimit = 53
	exitToolFatal = 54
	exitCancelled = 130
)

// cause is why we ended the run.
type cause struct {
	timedOut, stopped, flooded bool
	limit                      time.Duration // the time it was given, with timedOut; 0 = unknown
}

// decide returns how a run ended and, unless it completed, one sentence for the room.
// An answer counts, whatever happened after it; within an answer, a command that needs
// approval comes before a question. Without an answer, the CLI's own result decides,
// then our own action, then how the process ended. The exit code alone says little: an
// empty answer and a SIGTERM both exit with 0.
func decide(t Task, st sandbox.RunStatus, s *stream, c cause) (Ended, string) {
	switch {
	case s.result != nil && s.result.ok:
		return decideSuccess(s)
	case st.State == sandbox.RunNone:
		return Interrupted, "The room's container was recreated while I was working on this."
	case c.flooded:
		return Crashed, "I stopped because a program in the container printed more than I can read. The work so far is in " +
			"/workspace."
	case c.stopped:
		return Stopped, "Stopped, as requested. The work so far is in /workspace."
	case c.timedOut:
		return TimedOut, "I stopped " + after(c.limit) +
			" (CODING_TIMEOUT_SECONDS). The work so far is in /workspace: say “go on” to continue, or give me a smaller step."
	case s.result != nil:
		return decideError(t, st, s)
	}
	return decideSilence(t, st, s)
}

// Sentences that several signs lead to.
const (
	stoppedSay   = "I was stopped. The work so far is in /workspace."
	turnLimitSay = "Gemini CLI reached its turn limit for one task. Say “go on” to continue, or give me a smaller step."
	noAuthSay    = "The model's API rejected the key. The operator can check GEMINI_API_KEY with `matrix-tui doctor`."
	noModelSay   = "The model's API does not offer the model to this key. An owner can send `!model auto`, and the " +
		"operator can set another GEMINI_MODEL."
	tooManySay = "The model's API accepts no more requests at the moment (429, rate limit or quota). The operator " +
		"can check the quota of GEMINI_API_KEY."
	overflowSay = "The conversation has become too long for the model."
	refusedSay  = "The model's API refused the history of this session, and that of a new one. The work so far is in " +
		"/workspace. The next task starts another session."
	limitSay      = "The answer was longer than the model's output limit. Ask for it in smaller parts."
	heldSay       = "A command needs your approval before I can run it."
	overloadedSay = "The model is overloaded."
	brokenSay     = "The model's API is overloaded or broken at the moment. Send the task again in a few minutes."
)

func decideSuccess(s *stream) (Ended, string) {
	said := strings.Join(s.errors, "\n")
	switch {
	case strings.Contains(said, "Loop detected"):
		return TurnLimit, "Gemini CLI ended the task because the model kept repeating itself. Rephrase the task, or split " +
			"it into smaller steps."
	case strings.Contains(said, "Maximum session turns"):
		return TurnLimit, turnLimitSay
	case s.held != nil:
		return NeedsApproval, heldSay
	}
	switch s.signal().Kind {
	case Asked:
		return NeedsInput, "I have a question before I can continue."
	case CutOff:
		return QuestionCut, "The model's answer broke off in the middle of a question, so I do not know what it needs. Say " +
			"“go on” to let it ask again."
	}
	switch {
	case s.unasked():
		return Overflow, overflowSay
	case s.answer() != "":
		return Completed, ""
	}
	return empty(s)
}

// empty is for a model that gave no text. If a command needs approval, there was no need for text.
func empty(s *stream) (Ended, string) {
	if s.held != nil {
		return NeedsApproval, heldSay
	}
	if n := calls(s); n > 0 {
		return Empty, fmt.Sprintf("The model finished without an answer after %d tool calls. The result is in /workspace: "+
			"ask me what changed, or send the task again.", n)
	}
	return Empty, "The model gave an empty answer. Send the task again, or rephrase it."
}

func decideError(t Task, st sandbox.RunStatus, s *stream) (Ended, string) {
	said := plainError(s.result.error)
	if said == "" {
		said = strings.Join(s.errors, "\n") // the result of a broken answer has no message
	}
	if strings.Contains(said, "empty response") || strings.Contains(said, "no final response text") {
		return empty(s)
	}
	if t.Attached && broken.MatchString(said) {
		return Interrupted, "The connection to the model broke while I was restarting."
	}
	if ended, say, known := byFault(faults, s.result.kind+" "+said); known {
		return ended, say
	}
	if ended, say, known := byCode(st.Code); known {
		return ended, say
	}
	if ended, say, known := byFault(vagueFaults, said+"\n"+st.Stderr); known {
		return ended, say
	}
	if said == "" {
		return ModelError, "The model's API failed without giving a reason. Send the task again."
	}
	return ModelError, "The model's API returned an error: " + clean.Line(said, 300)
}

// byCode interprets the CLI's own exit codes and those that result from an HTTP status.
func byCode(code int) (Ended, string, bool) {
	switch code {
	case exitNoAuth:
		return NoAuth, "Gemini CLI has no credentials. The operator can check GEMINI_API_KEY with `matrix-tui doctor`.", true
	case exitTurnLimit:
		return TurnLimit, turnLimitSay, true
	case exitCancelled:
		return Stopped, stoppedSay, true
	case 401 & 255, 403 & 255:
		return NoAuth, noAuthSay, true
	case 404 & 255:
		return ModelGone, noModelSay, true
	case 429 & 255:
		return Unavailable, tooManySay, true
	case 503 & 255, 529 & 255:
		return Unavailable, overloadedSay, true
	case 500 & 255, 502 & 255, 504 & 255:
		return ModelError, brokenSay, true
	}
	return "", "", false
}

// decideSilence is for a run without a result.
func decideSilence(t Task, st sandbox.RunStatus, s *stream) (Ended, string) {
	switch {
	case st.State == sandbox.RunInterrupted:
		return Interrupted, "The room's container went down while I was working on this."
	case st.OOM, strings.Contains(st.Stderr, "heap out of memory"), st.Code == 128+9:
		return OutOfMemory, "The task ran out of memory. Give me a smaller one, or ask the operator to raise SANDBOX_MEMORY."
	case st.Code == exitBadInput && sessionRefused(st.Stderr):
		return SessionGone, "The agent's session cannot be resumed. I will continue from the conversation in this room."
	case st.Code == 0 && s.began, st.Code == 128+15, st.Code == 128+2:
		return Stopped, stoppedSay
	case st.Code == 126, st.Code == 127, strings.Contains(st.Stderr, "Cannot find module '"+cliPath):
		return Crashed, "Gemini CLI is missing from the sandbox image. The operator can rebuild the image with " +
			"`./deploy/image/build`."
	}
	if ended, say, known := byCode(st.Code); known {
		return ended, say
	}
	if ended, say, known := byFault(faults, st.Stderr); known {
		return ended, say
	}
	return Crashed, fmt.Sprintf("Gemini CLI failed (exit code %d, run %s). Send the task again; the operator can find "+
		"details in the log.", st.Code, t.Run)
}

// sessionRefused reports whether the CLI's error is about its session: it does not
// exist, or it exists and should have been new.
func sessionRefused(stderr string) bool {
	return strings.Contains(stderr, "Error resuming session") || strings.Contains(stderr, "Error starting session")
}

func calls(s *stream) (n int) {
	for _, k := range s.tools {
		n += k
	}
	return n
}

// after says how much time the run was given, if that is known.
func after(limit time.Duration) string {
	if limit <= 0 {
		return "when its time was up"
	}
	return "after " + spoken(limit)
}

// spoken writes a duration in words.
func spoken(d time.Duration) string {
	plural := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	if d < 90*time.Second {
		return plural(int64((d+time.Second/2)/time.Second), "second")
	}
	return plural(int64((d+time.Minute/2)/time.Minute), "minute")
}
