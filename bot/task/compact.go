package task

import (
	"context"
	"regexp"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

const (
	// maxSummary bounds a summary, in bytes.
	maxSummary = 8 << 10
	// keptTurns and keptBytes bound the newest messages that a compaction keeps verbatim. Summary and messages together
	// fit into a prompt.
	keptTurns = 8
	keptBytes = 16 << 10

	summaryHead = "Summary of the conversation before the following messages:\n\n"
)

// compaction replaces the room's session by one that starts from a summary and the newest messages. It is a task, so
// the rules of tasks apply, but its prompt asks for the summary, it leaves nothing in the workspace, and its result
// is a notice. The summary is stored with the result; then one write to the journal replaces history and session,
// unless somebody has replaced the session before. So a crash leaves the old session or the new one.
type compaction struct{ t *Task }

var compactWord = regexp.MustCompile(`(?i)!compact`)

// keep returns what the summary is asked to keep: the text after the command.
func (c compaction) keep() string {
	if at := compactWord.FindStringIndex(c.t.text); at != nil {
		return strings.TrimSpace(c.t.text[at[1]:])
	}
	return strings.TrimSpace(c.t.text)
}

// Rewritten returns the text of a task whose message was edited. A compaction stays one.
func Rewritten(rec state.Task, words string) string {
	if !rec.Compact {
		return words
	}
	if at := compactWord.FindStringIndex(words); at != nil {
		words = words[at[1]:]
	}
	return strings.TrimSpace("!compact " + strings.TrimSpace(words))
}

// refuse returns an outcome with the reason if there is nothing to compact now.
func (c compaction) refuse(ctx context.Context) (out agent.Outcome, err error) {
	if !c.t.rec.Compact {
		return out, nil
	}
	open, err := asking(ctx, c.t.env)
	switch {
	case err != nil:
		return out, err
	case open:
		out = agent.Outcome{Ended: agent.Stopped,
			Detail: "I cannot compact the session while a question is open: its answer continues this session. Answer it or " +
				"cancel it with `!stop`, then send `!compact` again."}
	case c.t.env.Store.Conversations.Session(c.t.env.ID) == "":
		out = agent.Outcome{Ended: agent.Stopped, Detail: "There is nothing to compact: the next task starts a new session."}
	}
	return out, nil
}

// current reports whether the room's session is still the one that the task works on.
func (c compaction) current() bool {
	now := c.t.env.Store.Conversations.Session(c.t.env.ID)
	return now != "" && (now == c.t.rec.BaseSession || now == c.t.rec.Session)
}

// outcome returns the outcome of a compaction, and stores the agent's summary in the record. Without a summary, the
// session stays.
func (c compaction) outcome(ctx context.Context, out agent.Outcome) agent.Outcome {
	t := c.t
	if !t.rec.Compact || out.Ended == agent.Stopped || out.Ended == agent.Limited {
		return out
	}
	if !c.current() {
		out.Ended, out.Detail, out.Text = agent.Stopped,
			"I did not compact the session: somebody has started a new one meanwhile.", ""
		return out
	}
	summary := strings.TrimSpace(text.Visible(out.Text))
	if out.Ended != agent.Completed || summary == "" {
		out.Detail, out.Text = strings.TrimSpace("I did not compact the session, because the model wrote no summary. "+
			out.Detail), ""
		switch out.Ended {
		case agent.Completed, agent.NeedsInput, agent.NeedsApproval: // it must not wait for an answer
			out.Ended = agent.Empty
		}
		return out
	}
	before := int64(0)
	if len(out.Tools) == 0 && !t.rec.Overflow && !t.rec.Refused {
		before = out.Usage.Input // of one request, with the whole session
	}
	t.rec.Summary, t.rec.Compacted = text.Cut(summary, maxSummary), true
	history, _ := t.env.Store.Conversations.History(ctx, t.env.ID) // only to say how long it is
	kept := newestTurns(history)
	after := len(t.rec.Summary)
	for _, turn := range history[len(history)-kept:] {
		after += len(turn.Content)
	}
	out.Detail, out.Text = "", compactedText(kept, before, int64(after/4))
	return out
}

// apply replaces history and session.
func (c compaction) apply(ctx context.Context) error {
	t, store := c.t, c.t.env.Store
	if !c.current() {
		return nil // it has replaced them already
	}
	return store.Conversations.Compact(ctx, t.env.ID, store.Conversations.Session(t.env.ID),
		state.Turn{Role: "assistant", Content: summaryHead + t.rec.Summary, Event: t.rec.Key + "-summary"}, newestTurns)
}

// compactedText is the notice about a compaction: before is the session's length in tokens, 0 if it is unknown, after
// about that of what the new session starts with.
func compactedText(kept int, before, after int64) string {
	size := "about " + text.Thousands(after) + " tokens"
	if before > 0 {
		size = text.Thousands(before) + " tokens → " + size
	}
	last := ""
	if kept > 0 {
		last = " and the room's last " + text.Few(int64(kept), "message") + ", verbatim"
	}
	return "🗜 Compacted: " + size + ". The next task starts a new session with a summary of this one" + last + "."
}

// newestTurns returns how many of the newest turns a compaction keeps: at least one, if there is any
// since the last compaction.
func newestTurns(history []state.Turn) (n int) {
	for size := 0; n < min(len(history), keptTurns); n++ {
		turn := history[len(history)-1-n]
		if size += len(turn.Content); n > 0 && size > keptBytes || strings.HasPrefix(turn.Content, summaryHead) {
			break
		}
	}
	return n
}
