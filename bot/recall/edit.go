package recall

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// Edit is what a message says now.
type Edit struct{ Event, By, Text string }

// edited returns a task as its messages are now, what they said before, and the edits. These are read here, while nobody
// makes others in the memory: one that comes later finds what the task has taught.
func (t Task) edited(ctx context.Context) (now Task, replaced []string, edits []Edit, err error) {
	if t.Edits == nil {
		return t, nil, nil, nil
	}
	edits, err = t.Edits(ctx)
	if err != nil || len(edits) == 0 {
		return t, nil, nil, err
	}
	t.Said, t.Answers = slices.Clone(t.Said), slices.Clone(t.Answers)
	for _, one := range edits {
		change := func(event string, text *string) {
			if event == one.Event && *text != one.Text {
				replaced = append(replaced, *text)
				*text = one.Text
			}
		}
		for i := range t.Said {
			change(t.Said[i].Event, &t.Said[i].Text)
		}
		for i := range t.Answers {
			change(t.Answers[i].Event, &t.Answers[i].Answer)
		}
	}
	return t, replaced, edits, nil
}

// Edit replaces what a message said in the memory of a room, if that has learned it; what it has not is learned with its
// edits (see Task). A failure is logged, and the edit is made when the index is used next, also by another process.
func (m *Memory) Edit(ctx context.Context, room string, one Edit) {
	if !m.knows(room) {
		return
	}
	defer m.embedSoon(room)
	defer m.afterSync(room)()
	limited, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := m.with(limited, room, func(x *memory.Index) error { return m.edit(limited, x, one) })
	if err != nil {
		err = errors.Join(err, memory.PostponeEdit(ctx, m.dir, room, one))
	}
	m.warn(ctx, room, "cannot replace an edited message in the memory of a room yet", err)
}

// editPostponed makes the edits that the index did not take earlier.
func (m *Memory) editPostponed(ctx context.Context, x *memory.Index) {
	x.PostponedEdits(ctx, func(line []byte) error {
		var one Edit
		if json.Unmarshal(line, &one) != nil { // torn by a crash
			return nil
		}
		err := m.edit(ctx, x, one)
		if errors.Is(err, memory.ErrLocked) || ctx.Err() != nil {
			return err
		}
		m.warn(ctx, x.Room(), "cannot replace an edited message in the memory of a room", err)
		return nil
	})
}

func (m *Memory) edit(ctx context.Context, x *memory.Index, one Edit) error {
	f := m.files(x.Room())
	f.learning.Lock()
	defer f.learning.Unlock()
	return m.amend(ctx, x, one)
}

// amend is edit for a caller that holds learning.
func (m *Memory) amend(ctx context.Context, x *memory.Index, one Edit) error {
	was, at, found, err := x.Said(ctx, one.Event)
	if err != nil || !found {
		return err
	}
	if at.IsZero() {
		at = time.Now()
	}
	secrets, answered := m.answersIn(x.Room(), one.Event)
	o := observer{Filter: m.filter, secrets: secrets, task: Task{
		Room: x.Room(), ID: one.Event, Said: []Said{{Event: one.Event, By: one.By, Text: one.Text}}, By: one.By, Began: at, Ended: at,
	}}
	e := memory.Edit{Event: one.Event, Text: m.filter.keep(one.Text, secrets...), Amend: o.amend(was)}
	if !answered {
		e.Docs, e.Lines, _ = o.wishes()
	}
	_, err = x.Edit(ctx, e)
	return err
}

// answersIn returns the secrets that people gave as answers in a room, and whether a message was an answer.
func (m *Memory) answersIn(room, event string) (secrets []string, answered bool) {
	for _, raw := range m.store.Executions(room) {
		if e, ok := finished(raw); ok {
			answers := taskOf(e).Answers
			secrets = append(secrets, secretsIn(answers)...)
			answered = answered || slices.ContainsFunc(answers, func(a Answer) bool { return a.Event == event })
		}
	}
	return secrets, answered
}

// place is where an entry has the text of a message, between two others, cut to a number of bytes. Without an end, it
// is the last.
type place struct {
	source        memory.Source // of the entry, or of the file; "" is any
	before, after string
	max           int
}

var (
	// taskPlaces are those of a task in what was done for it: see executions, log, prior and dayLine.
	taskPlaces = []place{
		{memory.SourceExecution, "Command: ", " | Outcome: ", maxField},
		{memory.SourceLog, ": ", " → ", maxLogTask},
		{memory.SourceContext, "] ", " → ", maxPriorTask},
		{memory.SourceMemory, "; ", "; ", maxDayTask},
		{memory.SourceMemory, "; ", "", maxDayTask},
	}
	answerPlaces = []place{{"", " | A: ", " | Context: ", maxField}, {"", " | A: ", "", maxField}}
	// aboutPlaces are those of a task in what people said about it.
	aboutPlaces = []place{{"", " | Context: ", "", maxField}, {"", ", about: ", ")", maxAbout}}
)

// replace replaces a text in its place. It reports whether it is there.
func (p place) replace(text, was, is string) (string, bool) {
	was, is = p.before+clean.Line(was, p.max)+p.after, p.before+clean.Line(is, p.max)+p.after
	if p.after == "" {
		rest, ok := strings.CutSuffix(text, was)
		return rest + is, ok
	}
	return strings.Replace(text, was, is, 1), strings.Contains(text, was)
}

// amend returns how to change what a message has left outside of its conversation, now that it says what the observed
// task says: the history of commands, logs, and questions with their answers are changed, and notes go, because the new
// text has its own. Of what was done, only what has the old text in another place goes.
func (o observer) amend(was string) func(source memory.Source, text string, own bool) string {
	is := o.task.Said[0].Text
	task, nowTask := o.short(withoutQuotes(was)), o.asked()
	answer, nowAnswer := o.short(was), o.short(is)
	value, _ := Correction(was)
	nowValue, _ := Correction(is)
	value, nowValue = o.short(value), o.short(nowValue)
	return func(source memory.Source, text string, own bool) string {
		swap := func(places []place, was, is string) (string, bool) {
			for _, p := range places {
				if p.source != "" && p.source != source {
					continue
				}
				if out, ok := p.replace(text, was, is); was != "" && ok {
					if is == "" {
						out = ""
					}
					return out, true
				}
			}
			return text, false
		}
		if !own {
			out, _ := swap(aboutPlaces, task, nowTask)
			return out
		}
		for _, one := range [][2]string{{answer, nowAnswer}, {value, nowValue}} {
			if out, ok := swap(answerPlaces, one[0], one[1]); ok && strings.HasPrefix(text, "Q: ") {
				return keptAnswer(out, is)
			}
		}
		if source == memory.SourceNote || wish(text) != "" {
			return ""
		}
		if out, ok := swap(taskPlaces, task, nowTask); ok {
			return out
		}
		if _, ok := swap(taskPlaces, nowTask, nowTask); ok {
			return text // it says so already
		}
		if source == memory.SourceExecution && (task == "" || !strings.Contains(text, task)) {
			return text
		}
		return ""
	}
}

// keptAnswer returns a question with its answer, or "" if that is not to be kept.
func keptAnswer(text, answer string) string {
	question, _, _ := parseAnswer(text)
	if Approval(question, answer) || AsksForSecret(question) || LooksSecret(answer) {
		return ""
	}
	return text
}
