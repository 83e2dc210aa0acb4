// Package update has the words of a self-update: what is ordered, what comes of it, and
// how a room is told. It installs nothing.
package update

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

// What a bot says that cannot update itself.
const (
	NotInstalled = "I was not installed from a release, so I cannot update myself. `deploy/install` sets this up."
	// InPod is for a bot in a cluster.
	InPod = "I run in a cluster, so I cannot update myself. The operator builds the images of the new release and " +
		"applies them, as `deploy/README.md` says under Kubernetes. Tasks that run go on."
)

// Updater installs newer releases of the program. When a method returns, its changes are on disk.
type Updater interface {
	// Begin records an order. known reports that the same event was recorded before and must not be acted on again.
	Begin(Order) (known bool, err error)
	// Prepare does everything that can be done before the switch and reports its progress through say. It returns
	// ErrNothingNew if there is no newer release.
	Prepare(ctx context.Context, o Order, say func(string)) (to string, err error)
	// Commit records the state before the switch.
	Commit(Snapshot) error
	// Result returns the outcome of the last update; false if it was reported before.
	Result() (Result, bool)
	// Told records that the outcome was reported.
	Told() error
}

// Order is a request for an update.
type Order struct {
	Ref         string // tag, branch or commit; "" = the newest
	Again       bool   // even if the release has failed twice
	Back        bool   // even if it is older
	Room, Event string // where it was requested; "" = on the command line
}

// Parse reads an order: a tag, branch or commit at most, and then `back` or `again`.
func Parse(text string) (o Order, ok bool) {
	words := strings.Fields(text)
	for i, word := range slices.Backward(words) {
		switch {
		case strings.EqualFold(word, "again"):
			o.Again = true
		case strings.EqualFold(word, "back"):
			o.Back = true
		default:
			o.Ref = word
			return o, i == 0
		}
	}
	return o, true
}

// Snapshot holds what an update must not change.
type Snapshot struct {
	Rooms int // with a container
	Turns int // turns of conversation, in all rooms together
}

// Result is the outcome of an update, and what is known of one before.
type Result struct {
	Room, Event string // where it was requested; "" = on the command line
	From, To    string // commits, 12 digits
	Done        bool
	Begun       time.Time // when it was requested
	Stopped     time.Time // when the old release was told to stop
	Ended       time.Time
	Subjects    []string // the changes, newest first
	Why         string   // the reason for a failure
	Log         []string // last lines of the failed release
	Before      Snapshot
}

// ErrNothingNew means that the requested release is already running.
var ErrNothingNew = errors.New("no newer release")

// words matches a message that asks for an update in plain words.
var words = regexp.MustCompile(`(?i)^(hey |hi )?(please |can you |could you |will you )*((self-?)?update|upgrade) (yourself|your ?self|the bot|matrix-tui)( now| please)*( to (the )?(latest|newest)( version| release)?)?( now| please)*[.!?]*$`)

// Wanted reports whether a message asks for an update in plain words.
func Wanted(text string) bool { return words.MatchString(strings.TrimSpace(text)) }

// Down is how long nobody answered.
func (res Result) Down() time.Duration {
	return res.Ended.Sub(res.Stopped).Round(100 * time.Millisecond)
}

// Text describes the outcome of an update and whether everything is still there.
func (res Result) Text(now Snapshot) string {
	if !res.Done {
		to := ""
		if res.To != "" {
			to = " to `" + res.To + "`"
		}
		return fmt.Sprintf("⚠️ The update%s failed: I am still running `%s`, and nothing has changed. %s%s", to, res.From,
			res.Why, fenced(res.Log))
	}
	text := fmt.Sprintf("✅ Updated from `%s` to `%s` in %s; I was away for %s. %s", res.From, res.To,
		text.Duration(res.Ended.Sub(res.Begun)), res.Down(), intact(res.Before, now))
	if len(res.Subjects) > 0 {
		text += "\n\n- " + strings.Join(res.Subjects, "\n- ")
	}
	return text
}

// intact compares the state before and after an update.
func intact(before, now Snapshot) string {
	var lost []string
	if now.Rooms < before.Rooms {
		lost = append(lost, fmt.Sprintf("only %d of %d rooms with a container are left", now.Rooms, before.Rooms))
	}
	if now.Turns < before.Turns {
		lost = append(lost, fmt.Sprintf("only %d of %d turns of conversation are left", now.Turns, before.Turns))
	}
	if len(lost) > 0 {
		return "⚠️ Something is missing: " + strings.Join(lost, "; ") + "."
	}
	return fmt.Sprintf("Workspace and conversation are intact: %s, %s of conversation.",
		strings.ToLower(text.Plural(now.Rooms, "room with a container", "rooms with a container")),
		strings.ToLower(text.Plural(now.Turns, "turn", "turns")))
}

// LogLines returns the log lines of an error as a code block.
func LogLines(err error) string { return fenced(sentence.Lines(err)) }

func fenced(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + text.Fence(strings.Join(lines, "\n"))
}
