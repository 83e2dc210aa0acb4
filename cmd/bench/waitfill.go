package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
)

// answerTime is how long a question waits: so long that nothing is due during the measurement.
const answerTime = 24 * time.Hour

// fillWaiting gives the bot, which must not be running, a waiting question in each room.
func (s *scene) fillWaiting(ctx context.Context, rooms []string) (err error) {
	journal, store, err := state.Open(ctx, s.StateDir(), zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), journal.Close()) }()
	for i, room := range rooms {
		w, err := s.waitingTask(room, i)
		if err != nil {
			return err
		}
		if _, err := journal.Events.Commit(ctx, "", []state.Event{w.row}); err != nil {
			return err
		}
		if err := errors.Join(journal.Tasks.Enqueue(ctx, w.task), journal.Tasks.Wait(ctx, w.task,
			[]state.Message{w.question})); err != nil {
			return err
		}
	}
	return nil
}

// waitingTask is a waiting task, in all the places where it is stored.
type waitingTask struct {
	row      state.Event
	task     state.Task
	question state.Message
}

// waitingTask creates the n-th: about 2 KB, with a question that is in the room and an earlier one that was answered.
func (s *scene) waitingTask(room string, n int) (w waitingTask, err error) {
	now, id := time.Now(), fmt.Sprintf("$task%039d", n)
	task := strings.Repeat("Back up the production database to the other site. ", 8)
	e, err := execution.New(execution.Spec{
		ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", n), Room: room, TaskEvent: id, Asker: s.alice.ID(),
		Transcript: []string{task},
	}, now)
	if err != nil {
		return w, err
	}
	asked := fmt.Sprintf("$question%035d", n)
	err = errors.Join(
		e.Start(now),
		e.Ask(strings.Repeat("Which of the databases shall it be? ", 8), "Several were found.", now.Add(answerTime), now),
		e.Resume(execution.Answer{Answer: "the one of the shop", By: s.alice.ID(), Event: fmt.Sprintf("$answer%037d", n)},
			now),
		e.Ask(strings.Repeat("Where shall the copy of it be put? ", 8), strings.Repeat("There are three places. ", 8),
			now.Add(answerTime), now),
		e.Posted(asked, now))
	if err != nil {
		return w, err
	}
	key := fmt.Sprintf("%016x", n)
	w.task = state.Task{
		Key: key, Room: room, Event: id, Home: room, Source: state.FromRoom, Requester: s.alice.ID(), Time: now.UTC(),
		Execution: e.ID, Text: task,
		Attempt: 2, Tries: 1, Run: key + "-2", Session: e.ID, Begun: now.UTC(), Deadline: now.Add(time.Hour).UTC(),
		Question: e.CurrentQuestion, QuestionContext: e.QuestionContext, QuestionRoom: room, QuestionEvent: asked,
		QuestionDeadline: e.Deadline,
		Resumable:        true, Created: e.CreatedAt, Updated: e.UpdatedAt,
		Details: state.Details{Answers: []state.Answer{state.Answer(e.Answers[0])}},
	}
	w.row = state.Event{Status: state.Pending, Event: event.Event{
		Room: room, ID: id, Sender: s.alice.ID(), Type: event.TypeMessage, Time: now,
		Body: event.Body{Message: &event.Message{MsgType: "m.text", Body: task}},
	}}
	w.question = state.Message{
		Txn: key + "-q1", Room: room, Kind: state.KindQuestion, Number: 1, Task: key, Body: e.CurrentQuestion, Event: asked,
		Status: state.Sent,
	}
	return w, nil
}
