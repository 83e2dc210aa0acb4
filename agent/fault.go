package agent

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// fault is an error that the room or the operator can do something about, recognised by
// the message of the API or the CLI.
type fault struct {
	match *regexp.Regexp
	ended Ended
	say   string
}

// faults name the cause; the first match counts.
var faults = []fault{
	{regexp.MustCompile(`gateway: no task is running`),
		ModelError, "The model was not available, because the gateway knew of no running task. Send the task again; if it " +
			"happens again, the operator can find details in the log."},
	{regexp.MustCompile(`gateway: the room's tokens for today`),
		Limited, "This room's tokens for today are used up."},
	{regexp.MustCompile(`gateway: the tokens of all rooms for today`),
		ModelError, "The tokens of all rooms for today are used up. Send the task again tomorrow (UTC); the operator can " +
			"change TOKENS_PER_DAY_ALL."},
	{regexp.MustCompile(`gateway: the model takes no requests`),
		Unavailable, tooManySay},
	{regexp.MustCompile(`gateway: cannot reach`),
		ModelError, "The model's API cannot be reached from this host. Send the task again later; the operator can run " +
			"`matrix-tui doctor`."},
	{regexp.MustCompile(`gateway: the model \S* ?is not configured`),
		ModelError, "The agent asked for a model that is not configured for this room. The operator can set GEMINI_MODEL, " +
			"or the room's model in policy.yaml, to the full name of a model."},
	{regexp.MustCompile(`gateway: the tool \S* ?runs at|gateway: the service tier`),
		ModelError, "The agent asked for a paid service of the model's provider that is not allowed (MODEL_TOOLS)."},
	{regexp.MustCompile(`FatalAuthentication|API_KEY_INVALID|API key (not valid|expired|not found)|UNAUTHENTICATED|PERMISSION_DENIED|reported as leaked`),
		NoAuth, noAuthSay},
	{regexp.MustCompile(`FatalTurnLimited|max session turns`),
		TurnLimit, turnLimitSay},
	{regexp.MustCompile(`FatalCancellation`),
		Stopped, stoppedSay},
	{regexp.MustCompile(`(?i)no space left|ENOSPC|no_space_left`),
		Crashed, "There is no space left on the disk. Delete files you do not need in /workspace, or ask the operator to " +
			"free some space, then send the task again."},
	{regexp.MustCompile(`(?i)token count.{0,40}exceeds|exceeds the maximum number of tokens|request payload size exceeds`),
		Overflow, overflowSay},
	{regexp.MustCompile(`(?i)please ensure that (the number of )?(function (call|response)|multiturn requests)|thought.?signature|contents\.parts must not be empty`),
		HistoryRefused, refusedSay},
	{regexp.MustCompile(`(?i)response was truncated because it exceeded the token limit|MAX_TOKENS`),
		Empty, limitSay},
	{regexp.MustCompile(`(?i)response was blocked due to|SAFETY_BLOCKED|RECITATION|PROHIBITED_CONTENT`),
		ModelError, "The model's safety filters blocked its answer. Rephrase the task."},
	{regexp.MustCompile(`\blimit: 0\b`),
		ModelGone, "The API key has no quota for the model. The operator can set another GEMINI_MODEL, or another key."},
	{regexp.MustCompile(`RESOURCE_EXHAUSTED|TerminalQuota|RetryableQuota|(?i:exceeded your current quota|too many requests|rate limit)`),
		Unavailable, tooManySay},
	{regexp.MustCompile(`ModelNotFound|is not found for API version|is no longer available`),
		ModelGone, noModelSay},
	{regexp.MustCompile(`UNAVAILABLE|(?i:overloaded)`),
		Unavailable, overloadedSay},
	{regexp.MustCompile(`DEADLINE_EXCEEDED`),
		ModelError, brokenSay},
}

// vagueFaults are tried when neither the message nor the exit code was clear, also on
// the CLI's stderr.
var vagueFaults = append([]fault{
	{broken, ModelError, "The connection to the model's API broke. Send the task again; if it happens again, the " +
		"operator can run `matrix-tui doctor`."},
	{regexp.MustCompile(`(?i)unexpected token|JSON at position|in JSON\b|Invalid stream|malformed`),
		ModelError, "The model's API sent an invalid response. Send the task again."},
	{regexp.MustCompile(`\b429\b|(?i:quota)`), Unavailable, tooManySay},
	{regexp.MustCompile(`\b50[0-9]\b|\bINTERNAL\b`), ModelError, brokenSay},
}, faults...)

// broken matches a lost connection after which the CLI gave up. It retries refused and reset connections, and answers
// that stop in the middle, but not a chunked answer without its end ("terminated").
var broken = regexp.MustCompile(`(?im)fetch failed|\bECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|socket hang up|^terminated$|other side closed|premature close|incomplete json`)

func byFault(table []fault, said string) (Ended, string, bool) {
	for _, f := range table {
		if f.match.MatchString(said) {
			return f.ended, f.say, true
		}
	}
	return "", "", false
}

// plainError extracts the message from the CLI's wrapper: "[API Error: …]", around text or Google's JSON.
func plainError(s string) string {
	body, found := strings.CutPrefix(s, "[API Error: ")
	if !found {
		return s
	}
	if i := strings.LastIndexByte(body, ']'); i >= 0 {
		body = body[:i]
	}
	if said := gjson.Get(body, "error.message").Str; said != "" && gjson.Valid(body) {
		for _, reason := range gjson.Get(body, "error.details.#.reason").Array() {
			said += " " + reason.Str
		}
		if status := gjson.Get(body, "error.status").Str; status != "" {
			said += " (" + status + ")"
		}
		return said
	}
	return body
}
