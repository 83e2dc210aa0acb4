package bot

import (
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// taskFrom is the task that a message asks for. It is agent.ErrLimit for one that
// is too large.
func taskFrom(row state.Inbound) (state.Task, error) {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	rec := state.Task{
		Source: state.FromRoom, Home: homeOf(row), Thread: threadOf(row), ReplyTo: repliesTo(row),
		Execution: task.ExecutionID(row.Room, row.Event), Text: taskWords(taskText(m)),
	}
	if f, ok := fileOf(row); ok {
		rec.Text, rec.HasFile = task.WithFile(f, rec.Text), true
	}
	return task.New(rec, row)
}

// taskWords is a text without the command that only says that it is a task.
func taskWords(text string) string {
	if c, rest, ok := parseCommand(text); ok && c.run == nil {
		return rest
	}
	return text
}

// repliesTo is the event that a row replies to, "" for none.
func repliesTo(row state.Inbound) string {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	if m.RelatesTo.Fallback { // in a thread, for old clients
		return ""
	}
	return m.RelatesTo.InReplyTo
}
