package agent

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

// Exit codes of Gemini CLI, from its ExitCodes; errors of the API end it with
// their HTTP status instead, of which the system keeps the lowest eight bits.
const (
	exitNoAuth    = 41
	exitBadInput  = 42
	exitConfig    = 52
	exitTurnLimit = 53
	exitToolFatal = 54
	exitCancelled = 130
)

// cause is why the run was ended from our side.
type cause struct {
	timedOut, stopped bool
	limit             time.Duration // the time it had, with timedOut; 0 = not known
}

// decide says why a run is over, and tells the room in one sentence where it
// did not complete. An answer counts, whatever came after it: a command that was
// held back first, then a question in it. Without one, the
// CLI's own result decides, then our own doing, then how the process ended. The
// exit code alone says little: an empty answer and a SIGTERM both leave 0.
func decide(t Task, st sandbox.RunStatus, s *stream, c cause) (Ended, string) {
	switch {
	case s.result != nil && s.result.ok:
		return decideSuccess(s)
	case st.State == sandbox.RunNone:
		return Interrupted, "The room's container was made anew while I worked on this."
	case c.stopped:
		return Stopped, "I stopped, as told. What was done so far is in /workspace."
	case c.timedOut:
		return TimedOut, "I stopped " + after(c.limit) + " (CODING_TIMEOUT_SECONDS). What was done so far is in /workspace: say “go on” and I continue, or give me a smaller step."
	case s.result != nil:
		return decideError(t, st, s)
	}
	return decideSilence(t, st, s)
}

// What the room is told where more than one sign leads to it.
const (
	stoppedSay    = "I was stopped. What was done so far is in /workspace."
	turnLimitSay  = "Gemini CLI reached its limit of turns for one task. Say “go on” and I continue, or give me a smaller step."
	noAuthSay     = "The model's API refused the key. The operator can check GEMINI_API_KEY with `matrix-tui doctor`."
	noModelSay    = "The model's API does not know the model. The operator can set another GEMINI_MODEL."
	tooManySay    = "The model's API takes no more requests at the moment (429, rate limit or quota). Send the task again in a few minutes; if it stays so, the operator can look at the plan behind GEMINI_API_KEY."
	heldSay       = "A command needs a yes before I may run it."
	overloadedSay = "The model's API is overloaded or broken at the moment. Send the task again in a few minutes."
)

func decideSuccess(s *stream) (Ended, string) {
	said := strings.Join(s.errors, "\n")
	switch {
	case strings.Contains(said, "Loop detected"):
		return TurnLimit, "Gemini CLI ended the task because the model kept repeating itself. Put the task in other words, or in smaller steps."
	case strings.Contains(said, "Maximum session turns"):
		return TurnLimit, turnLimitSay
	case s.held != nil:
		return NeedsApproval, heldSay
	}
	switch s.signal.End().Kind {
	case Asked:
		return NeedsInput, "I have a question before I can go on."
	case CutOff:
		return QuestionCut, "The model's answer broke off within a question, so I do not know what it needs. Say “go on”, and it can ask again."
	}
	if s.answer() != "" {
		return Completed, ""
	}
	return empty(s)
}

// empty is for a model that said nothing; it had no need to when it was told
// to stop.
func empty(s *stream) (Ended, string) {
	if s.held != nil {
		return NeedsApproval, heldSay
	}
	if n := calls(s); n > 0 {
		return Empty, fmt.Sprintf("The model ended without a word after %d tool calls. What it did is in /workspace: ask me what changed, or send the task again.", n)
	}
	return Empty, "The model gave an empty answer. Send the task again, or put it in other words."
}

func decideError(t Task, st sandbox.RunStatus, s *stream) (Ended, string) {
	said := plainError(s.result.error)
	if said == "" {
		said = strings.Join(s.errors, "\n") // the result of a broken answer is bare
	}
	if strings.Contains(said, "empty response") || strings.Contains(said, "no final response text") {
		return empty(s)
	}
	if t.Attached && broken.MatchString(said) {
		return Interrupted, "The connection to the model broke while I was away."
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
		return ModelError, "The model's API broke off without saying why. Send the task again."
	}
	return ModelError, "The model's API answered with an error: " + clean.Line(said, 300)
}

// byCode knows the exit codes that the CLI keeps for itself, and those that are
// what is left of an HTTP status.
func byCode(code int) (Ended, string, bool) {
	switch code {
	case exitNoAuth:
		return NoAuth, "Gemini CLI has no way to sign in. The operator can check GEMINI_API_KEY with `matrix-tui doctor`.", true
	case exitTurnLimit:
		return TurnLimit, turnLimitSay, true
	case exitCancelled:
		return Stopped, stoppedSay, true
	case 401 & 255, 403 & 255:
		return NoAuth, noAuthSay, true
	case 404 & 255:
		return ModelError, noModelSay, true
	case 429 & 255:
		return ModelError, tooManySay, true
	case 500 & 255, 502 & 255, 503 & 255, 504 & 255, 529 & 255:
		return ModelError, overloadedSay, true
	}
	return "", "", false
}

// decideSilence is for a run without a result.
func decideSilence(t Task, st sandbox.RunStatus, s *stream) (Ended, string) {
	switch {
	case st.State == sandbox.RunInterrupted:
		return Interrupted, "The room's container went down while I worked on this."
	case st.OOM, strings.Contains(st.Stderr, "heap out of memory"), st.Code == 128+9:
		return OutOfMemory, "The task ran out of memory. Give me a smaller one, or let the operator raise SANDBOX_MEMORY."
	case st.Code == exitBadInput && sessionRefused(st.Stderr):
		return SessionGone, "The agent's own memory of this room cannot be resumed; I go on with the conversation as it stands in the room."
	case st.Code == 0 && s.began, st.Code == 128+15, st.Code == 128+2:
		return Stopped, stoppedSay
	case st.Code == 126, st.Code == 127, strings.Contains(st.Stderr, "Cannot find module '"+cliPath):
		return Crashed, "Gemini CLI is not in the sandbox image. The operator can build it anew with `./deploy/image/build`."
	}
	if ended, say, known := byCode(st.Code); known {
		return ended, say
	}
	if ended, say, known := byFault(faults, st.Stderr); known {
		return ended, say
	}
	return Crashed, fmt.Sprintf("Gemini CLI broke off (exit code %d, run %s). Send the task again; the operator finds more in the log.", st.Code, t.Run)
}

// sessionRefused says that the CLI's last words are about its session: one that
// it does not have, or one that it has when it was told to begin it.
func sessionRefused(stderr string) bool {
	return strings.Contains(stderr, "Error resuming session") || strings.Contains(stderr, "Error starting session")
}

func calls(s *stream) (n int) {
	for _, k := range s.tools {
		n += k
	}
	return n
}

// after says how long a run had, where that is known.
func after(limit time.Duration) string {
	if limit <= 0 {
		return "when the time for it was over"
	}
	return "after " + spoken(limit)
}

// spoken is a duration as one says it.
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
