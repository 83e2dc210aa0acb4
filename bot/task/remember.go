package task

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
)

// maxCalls bounds the calls of tools in a record: the newest are kept.
const maxCalls = 50

// callsOf adds the calls of a run to those of earlier runs.
func callsOf(before []state.Call, out agent.Outcome) []state.Call {
	for _, c := range out.Calls {
		before = append(before, state.Call(c))
	}
	return before[max(0, len(before)-maxCalls):]
}

// lookedAgo is how old what was looked up may be when the run starts: somebody may have something forgotten meanwhile.
const lookedAgo = time.Second

// lookUp starts to look up what the task quotes and what the room knows about it, while the container is made ready.
// end waits for that if it is wanted, and else ends it; looked then looks again if it is too old.
func (a *attempt) lookUp(ctx context.Context) (looked func() error, end func(wanted bool)) {
	early, cancel := context.WithCancel(ctx)
	var err error
	began, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		err = queue.Recovered(func() error { return a.recall(early) })
	}()
	looked = func() error {
		if time.Since(began) > lookedAgo {
			err = a.recall(ctx)
		}
		return err
	}
	end = func(wanted bool) {
		if !wanted {
			cancel()
		}
		<-ended
		cancel()
	}
	return looked, end
}

// recall looks up what the task quotes, and what the room knows about both.
func (a *attempt) recall(ctx context.Context) (err error) {
	t, session := a.task, ""
	if t.rec.Resume {
		session = t.rec.Session
	}
	env := t.env
	if about := cmp.Or(t.rec.ReplyTo, t.rec.Thread); about != "" {
		if a.quoted, err = env.Room.Quote(ctx, t.rec.Home, about); err != nil {
			return err
		}
	}
	a.known = env.Recall.Find(ctx, env.ID, env.NameOf(t.rec.Asker()), session, a.query(), env.rules().MemoryFrom...)
	return nil
}

// speak tells the memory what the person of the task has written: only that can become a note.
func (a *attempt) speak() {
	rec, env := &a.task.rec, a.task.env
	asker := rec.Asker()
	speech := recall.Speech{Task: rec.Key, By: env.NameOf(asker)}
	add := func(event, by, text string, file bool) {
		if file {
			_, text, _ = strings.Cut(text, "\n") // the first line is ours: see WithFile
		}
		if by == asker && event != "" && rec.Source == state.FromRoom {
			speech.Said = append(speech.Said, recall.Said{Event: event, By: speech.By, Text: text})
		}
	}
	add(rec.Event, asker, a.task.text, rec.HasFile)
	for _, said := range rec.Said {
		add(said.Event, said.By, said.Text, false)
	}
	for _, answer := range a.task.exec.Answers {
		if (recall.Answer{Question: answer.Question, Answer: answer.Answer}).IsSecret() {
			speech.Secrets = append(speech.Secrets, answer.Answer)
			continue
		}
		add(answer.Event, answer.By, answer.Answer, false)
	}
	env.Recall.Begin(env.ID, speech)
}

// query is what the room's memory is searched for: the task, and what it quotes.
func (a *attempt) query() string {
	if a.task.rec.Compact {
		return "" // only what was forgotten matters
	}
	text, later := spoken(a.task)
	for _, one := range later {
		text += "\n" + one.Text
	}
	if a.quoted != nil {
		text += "\n" + a.quoted.Text
	}
	return text
}

// noteKnown records that the session has what recall found. It does not delay the run.
func (a *attempt) noteKnown() {
	if a.task.rec.Compact {
		return // its prompt has none of it
	}
	env, session, known := a.task.env, a.task.rec.Session, a.known
	env.Group.Start(func() { env.Recall.Gave(context.Background(), env.ID, session, known) })
}

// learn stores what the task taught in the room's memory. A failure is logged: the task
// ends all the same.
func (s settlement) learn(ctx context.Context) {
	env := s.t.env
	if s.t.rec.Compact {
		return
	}
	edits, err := editsOf(ctx, s.t)
	if err == nil {
		err = env.Recall.Learn(ctx, observed(s.t).With(edits))
	}
	if err != nil && ctx.Err() == nil {
		env.Log.Error().Err(err).Str("room", env.ID).Msg("cannot store what the task taught")
	}
	for _, one := range edits { // while it ran
		if err := env.Rewrite(ctx, one); err != nil && ctx.Err() == nil {
			env.Log.Error().Err(err).Str("room", env.ID).Msg("cannot replace what an edited message said")
		}
	}
}

// observed is what there is to learn from a task.
func observed(t *Task) recall.Task {
	rec, e, zone := &t.rec, t.exec, t.env.rules().Zone // the agent and people name days by it
	out := recall.Task{
		Room: t.env.ID, ID: rec.Execution, Event: rec.Event, By: t.env.NameOf(rec.Asker()), Session: rec.Session,
		Began: e.CreatedAt.In(zone), Ended: e.UpdatedAt.In(zone), Success: e.State == execution.Done, Result: rec.Result,
	}
	out.Said = append(out.Said, recall.Said{Event: rec.Event, By: out.By, Text: t.text})
	for _, said := range rec.Said {
		out.Said = append(out.Said, recall.Said{Event: said.Event, By: t.env.NameOf(said.By), Text: WordsOf(said)})
	}
	out.Answers = answersOf(t)
	for _, c := range rec.Calls {
		out.Calls = append(out.Calls, recall.Call(c))
	}
	return out
}

// editsOf returns what the messages of a task say now, if their senders have edited them since, the newest of each. The
// task itself only has the edits that came in time.
func editsOf(ctx context.Context, t *Task) (edits []recall.Edit, err error) {
	rows, err := t.env.Journal.Events.Edits(ctx, t.env.ID, t.rec.Seq)
	if err != nil {
		return nil, fmt.Errorf("read edits: %w", err)
	}
	words := map[string]string{} // by message and sender
	for _, row := range rows {
		if now := EditedWords(row.Event); now != "" {
			words[row.Relation().EventID+" "+row.Sender] = now
		}
	}
	add := func(event, by string, withFile func(words string) string) {
		if now := words[event+" "+by]; now != "" {
			edits = append(edits, recall.Edit{Event: event, By: t.env.NameOf(by), Text: withFile(now)})
		}
	}
	add(t.rec.Event, t.rec.Asker(), func(words string) string {
		if came, _, _ := strings.Cut(t.text, "\n"); t.rec.HasFile {
			return came + "\n" + words // see WithFile
		}
		return words
	})
	for _, said := range t.rec.Said {
		add(said.Event, said.By, func(words string) string { return words })
	}
	for _, a := range t.exec.Answers {
		add(a.Event, a.By, func(words string) string {
			if file := answerPath(a.Answer); file != "" {
				return words + "\n" + file
			}
			return words
		})
	}
	return edits, nil
}

// spokenWord is a command whose argument is a message to the agent.
var spokenWord = regexp.MustCompile(`(?i)^\s*!(?:task|answer|steer)(?:\s+|$)`)

// Spoken returns a message without such a command.
func Spoken(text string) string {
	return strings.TrimSpace(text[len(spokenWord.FindString(text)):])
}

// EditedWords returns what a message says by its edit, or "".
func EditedWords(edit event.Event) string {
	m, _ := edit.Message()
	return Spoken(m.NewWords())
}

// answersOf returns people's answers.
func answersOf(t *Task) (out []recall.Answer) {
	for _, a := range t.exec.Answers {
		out = append(out, recall.Answer{Question: a.Question, Answer: a.Answer, By: t.env.NameOf(a.By), Event: a.Event})
	}
	return out
}
