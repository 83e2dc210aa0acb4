package bot

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"matrix-tui/state"
)

// verdict says what a message that could be a task is.
type verdict int

const (
	isTask      verdict = iota
	isAnswer            // to the question of route.task
	isLate              // to a question that has an answer
	isClosed            // to a question that nobody waits for any more
	isAmbiguous         // to one of several questions
	isPart              // of the task that runs
)

// route is where a message goes.
type route struct {
	verdict verdict
	task    *state.Inbound  // with isAnswer, isLate and isClosed
	among   []state.Inbound // with isAmbiguous
}

// routeOf decides what a new message is: what speaks to a question, by reply
// or in its thread, belongs to it, whoever wrote it; and so does the next plain
// message of the person who asked. The decision for an answer holds until the
// question has one; the one for a task holds for ever, and so does the one for a
// part while its task runs. The caller holds the
// books.
func (r *room) routeOf(ctx context.Context, row state.Inbound, e wireEvent) (route, error) {
	m, ok := e.message()
	if !ok {
		return route{}, nil
	}
	if _, _, command := parseCommand(taskText(m)); command {
		return route{}, nil // !task: the others do not come here
	}
	if waiting, err := r.inThread(ctx, row); err != nil {
		return route{}, err
	} else if waiting != nil {
		return route{verdict: isAnswer, task: waiting}, nil
	}
	if about := m.RelatesTo.About(); about != "" {
		told, err := r.bot.Journal.OutboundOf(ctx, r.id, about)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return route{}, fmt.Errorf("look up message: %w", err)
		}
		if err != nil || !strings.HasSuffix(told.Txn, toldTxn) { // to one that we told something about the questions: as a plain one
			return r.routeTo(ctx, about)
		}
	}
	if r.joins(row) {
		return route{verdict: isPart}, nil
	}
	if r.bot.waits.count(r.id) == 0 {
		return route{}, nil
	}
	rows, err := r.bot.Journal.WaitingIn(ctx, r.id)
	if err != nil {
		return route{}, fmt.Errorf("read waiting tasks: %w", err)
	}
	var own []state.Inbound
	for i := range rows {
		if rows[i].Type == typeExecute || rows[i].Sender != row.Sender {
			continue
		}
		before, err := r.askedBefore(ctx, rows[i], row)
		if err != nil {
			return route{}, err
		}
		if before {
			own = append(own, rows[i])
		}
	}
	switch len(own) {
	case 0:
		return route{}, nil
	case 1:
		return route{verdict: isAnswer, task: &own[0]}, nil
	}
	return route{verdict: isAmbiguous, among: own}, nil
}

// routeTo decides about a message that speaks to an event.
func (r *room) routeTo(ctx context.Context, about string) (route, error) {
	row, txn, err := r.taskOf(ctx, about)
	if err != nil || row == nil {
		return route{}, err
	}
	n, question := questionNumber(txn)
	if !question && row.Status == state.Waiting {
		return route{verdict: isAnswer, task: row}, nil
	}
	if !question {
		return route{}, nil
	}
	t, err := newTask(r, *row)
	if err != nil {
		return route{}, err
	}
	return route{verdict: ofQuestion(row.Status, n, len(t.rec.Execution.Answers)), task: row}, nil
}

// ofQuestion is the verdict about what speaks to question n of a task that has
// so many answers.
func ofQuestion(status state.Status, n, answers int) verdict {
	switch {
	case n < answers:
		return isLate
	case status == state.Waiting:
		return isAnswer
	}
	return isClosed
}

// askedBefore tells whether the question of a waiting task stands before a
// message in the room's timeline: what was written before it was asked is no
// answer to it.
func (r *room) askedBefore(ctx context.Context, waiting, message state.Inbound) (bool, error) {
	t, err := newTask(r, waiting)
	if err != nil {
		return false, err
	}
	sent, err := r.bot.Journal.Outbound(ctx, t.question(len(t.rec.Execution.Answers)))
	if err == nil && sent.Event != "" {
		var echo state.Inbound
		if echo, err = r.bot.Journal.Event(ctx, r.id, sent.Event); err == nil {
			return echo.Seq < message.Seq, nil
		}
	}
	if errors.Is(err, state.ErrNotFound) {
		err = nil // not in the room yet
	}
	if err != nil {
		return false, fmt.Errorf("look up question: %w", err)
	}
	return false, nil
}

// taskOf is the row of the task that an event belongs to: the task itself, or
// one of our messages about it, with its transaction ID; nil when there is
// none.
func (r *room) taskOf(ctx context.Context, event string) (row *state.Inbound, txn string, err error) {
	out, err := r.bot.Journal.OutboundOf(ctx, r.id, event)
	if err == nil {
		event, txn = out.Task, out.Txn
	} else if !errors.Is(err, state.ErrNotFound) {
		return nil, "", fmt.Errorf("look up message: %w", err)
	}
	if event == "" {
		return nil, "", nil
	}
	found, err := r.bot.Journal.Event(ctx, r.id, event)
	if errors.Is(err, state.ErrNotFound) || err == nil && found.Status == state.Archived {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("look up task: %w", err)
	}
	return &found, txn, nil
}

// question is the transaction ID of the task's question after n answers. What
// does not fit into one message goes on as …-qN-1 and so on; the options are
// …-qN-rI, the reminder is …-qN-w.
func (t *task) question(n int) string { return t.key + "-q" + strconv.Itoa(n) }

var questionTxn = regexp.MustCompile(`^[0-9a-f]+-q([0-9]{1,4})(?:-[0-9]+|-w)?$`)

// questionNumber is the n of a transaction that asked, or reminded of, a
// question.
func questionNumber(txn string) (n int, ok bool) {
	m := questionTxn.FindStringSubmatch(txn)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
