package bot

import (
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

func originOf(row state.Event) task.Origin {
	return task.Origin{Event: row.ID, Thread: row.Relation().Thread(), Moved: row.Moved()}
}

// out returns a message of the room in Markdown.
func (r *room) out(kind state.Kind, txn, text string) state.Message {
	return state.Message{Txn: txn, Room: r.id, Kind: kind, Body: text}
}

// notice returns a message of the room that notifies nobody.
func (r *room) notice(kind state.Kind, txn, text string) state.Message {
	m := r.out(kind, txn, text)
	m.Notice = true
	return m
}

// answer returns a notice that replies to a row.
func (r *room) answer(row state.Event, kind state.Kind, txn, text string) state.Message {
	return originOf(row).Reply(r.notice(kind, txn, text), row.ID, "")
}
