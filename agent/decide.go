package agent

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"matrix-tui/sandbox"
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
// did not complete. An answer counts, whatever came after it; without one, the
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
		return decideError(st, s)
	}
	return decideSilence(t, st, s)
}

func decideSuccess(s *stream) (Ended, string) {
	said := strings.Join(s.errors, "\n")
	switch {
	case strings.Contains(said, "Loop detected"):
		return TurnLimit, "Gemini CLI ended the task because the model kept repeating itself. Put the task in other words, or in smaller steps."
	case strings.Contains(said, "Maximum session turns"):
		return turnLimit()
	case s.answer() != "":
		return Completed, ""
	}
	return empty(s)
}

func empty(s *stream) (Ended, string) {
	if n := calls(s); n > 0 {
		return Empty, fmt.Sprintf("The model ended without a word after %d tool calls. What it did is in /workspace: ask me what changed, or send the task again.", n)
	}
	return Empty, "The model gave an empty answer. Send the task again, or put it in other words."
}

func turnLimit() (Ended, string) {
	return TurnLimit, "Gemini CLI reached its limit of turns for one task. Say “go on” and I continue, or give me a smaller step."
}

// faults are the errors that a room or its operator can do something about, by
// what the API or the CLI says; the first match counts.
var faults = []struct {
	match *regexp.Regexp
	ended Ended
	say   string
}{
	{regexp.MustCompile(`FatalAuthentication|API[_ ]KEY[_ ]INVALID|API key (not valid|expired|not found)|UNAUTHENTICATED|PERMISSION_DENIED|\b(401|403)\b|reported as leaked`),
		NoAuth, "The model's API refused the key. The operator can check GEMINI_API_KEY with `matrix-tui doctor`."},
	{regexp.MustCompile(`FatalTurnLimited|max session turns`),
		TurnLimit, ""},
	{regexp.MustCompile(`FatalCancellation`),
		Stopped, "I was stopped. What was done so far is in /workspace."},
	{regexp.MustCompile(`(?i)no space left|ENOSPC|no_space_left`),
		Crashed, "There is no space left on the disk. Delete what is not needed in /workspace, or let the operator make room, and send the task again."},
	{regexp.MustCompile(`(?i)token count.{0,40}exceeds|exceeds the maximum number of tokens|context window|too large for the context|request payload size exceeds`),
		ModelError, "This room's conversation has grown too long for the model. Start a new one, or give me a smaller task."},
	{regexp.MustCompile(`(?i)response was truncated because it exceeded the token limit|MAX_TOKENS`),
		ModelError, "The answer was longer than the model may give at once. Ask for it in smaller parts."},
	{regexp.MustCompile(`(?i)blocked due to|SAFETY_BLOCKED|RECITATION|PROHIBITED_CONTENT`),
		ModelError, "The model's filters blocked its answer. Put the task in other words."},
	{regexp.MustCompile(`(?i)per ?day|daily (quota|limit)|billing|exceeded your current quota|TerminalQuota|quota exhausted`),
		ModelError, "The quota of the model's API is used up. Try again later, or let the operator look at the plan behind GEMINI_API_KEY."},
	{regexp.MustCompile(`(?i)\b429\b|RESOURCE_EXHAUSTED|too many requests|rate limit|RetryableQuota|capacity`),
		ModelError, "The model's API has too many requests at the moment (429). Send the task again in a few minutes."},
	{regexp.MustCompile(`(?i)ModelNotFound|\b404\b|NOT_FOUND|is not found for API version`),
		ModelError, "The model's API does not know the model. The operator can set another GEMINI_MODEL."},
	{regexp.MustCompile(`(?i)overloaded|\b50[0-9]\b|UNAVAILABLE|INTERNAL|DEADLINE_EXCEEDED`),
		ModelError, "The model's API is overloaded or broken at the moment. Send the task again in a few minutes."},
	{regexp.MustCompile(`(?i)fetch failed|ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|socket hang up|network|terminated|premature close`),
		ModelError, "The connection to the model's API broke. Send the task again; if it happens again, the operator can run `matrix-tui doctor`."},
	{regexp.MustCompile(`(?i)incomplete json|unexpected token|not valid JSON|JSON at position|invalid stream|malformed`),
		ModelError, "The model's API sent an answer that made no sense. Send the task again."},
}

func decideError(st sandbox.RunStatus, s *stream) (Ended, string) {
	said := s.result.error
	if said == "" {
		said = strings.Join(s.errors, "\n") // the result of a broken answer is bare
	}
	if strings.Contains(said, "empty response") || strings.Contains(said, "no final response text") {
		return empty(s)
	}
	whole := s.result.kind + " " + said
	for _, f := range faults {
		switch {
		case !f.match.MatchString(whole):
		case f.ended == TurnLimit:
			return turnLimit()
		default:
			return f.ended, f.say
		}
	}
	if ended, say, known := byCode(st.Code); known {
		return ended, say
	}
	if said == "" {
		return ModelError, "The model's API broke off without saying why. Send the task again."
	}
	return ModelError, "The model's API answered with an error: " + oneLine(said, 300)
}

// byCode knows the exit codes that the CLI keeps for itself.
func byCode(code int) (Ended, string, bool) {
	switch code {
	case exitNoAuth:
		return NoAuth, "Gemini CLI has no way to sign in. The operator can check GEMINI_API_KEY with `matrix-tui doctor`.", true
	case exitTurnLimit:
		e, say := turnLimit()
		return e, say, true
	case exitCancelled:
		return Stopped, "I was stopped. What was done so far is in /workspace.", true
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
		return Stopped, "I was stopped. What was done so far is in /workspace."
	case st.Code == 126, st.Code == 127:
		return Crashed, "Gemini CLI is not in the sandbox image. The operator can build it anew with `./deploy/image/build`."
	}
	if ended, say, known := byCode(st.Code); known {
		return ended, say
	}
	for _, f := range faults {
		if f.say != "" && st.Code != 0 && f.match.MatchString(st.Stderr) {
			return f.ended, f.say
		}
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
