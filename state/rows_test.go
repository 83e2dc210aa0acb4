package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"matrix-tui/state/event"
)

func anEvent(room, id string, status Status) Event {
	return Event{Status: status, Event: event.Event{
		Room: room, ID: id, Sender: "@alice:x", Type: event.TypeMessage, Time: time.UnixMilli(1700000000123).UTC(),
		Body: event.Body{Message: &event.Message{MsgType: "m.text", Body: id}},
	}}
}

// arrived leaves out when events arrived.
var arrived = cmpopts.IgnoreFields(Event{}, "At")

func message(txn, room, task string) Message {
	return Message{Txn: txn, Room: room, Kind: KindNotice, Task: task, Body: txn}
}

// work is a task of an event; its key is the event.
func work(room, event string) Task {
	return Task{Key: event, Room: room, Event: event, Home: room, Execution: room + event, Source: FromRoom, Requester: "@alice:x", Text: "work"}
}

// queueTask commits an event and makes it a task.
func queueTask(t testing.TB, j *Journal, room, id string) Task {
	t.Helper()
	commit(t, j, "", anEvent(room, id, Pending))
	must(t, j.Tasks.Enqueue(ctx, work(room, id)))
	task, err := j.Tasks.Get(ctx, id)
	must(t, err)
	return task
}

func keys(tasks []Task) (out []string) {
	for _, t := range tasks {
		out = append(out, t.Key)
	}
	return out
}

func commit(t testing.TB, j *Journal, token string, events ...Event) []Event {
	t.Helper()
	fresh, err := j.Events.Commit(ctx, token, events)
	must(t, err)
	return fresh
}

func ids(rows []Event) (out []string) {
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func txns(rows []Message) (out []string) {
	for _, r := range rows {
		out = append(out, r.Txn)
	}
	return out
}
