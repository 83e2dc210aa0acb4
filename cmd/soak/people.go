package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/bot/bottest/person"
)

// acts are what people do. Each returns when the bot has reacted as it should.
var acts = []struct {
	name string
	do   func(*soak, context.Context, *room, int) error
}{
	{"task", (*soak).task},
	{"task", (*soak).task},
	{"question", (*soak).question},
	{"burst", (*soak).burst},
	{"file in", (*soak).fileIn},
	{"file out", (*soak).fileOut},
	{"new room", (*soak).move},
}

// act does one thing in a room in which nobody else is active.
func (s *soak) act(ctx context.Context) {
	act := acts[s.choose(len(acts))]
	s.mu.Lock()
	free := slices.DeleteFunc(slices.Clone(s.rooms), func(r *room) bool { return s.busy[r.id] })
	r := free[s.dice.IntN(len(free))]
	s.busy[r.id] = true
	n := s.next
	s.next++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, r.id)
	}()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := act.do(s, ctx, r, n); err != nil && ctx.Err() != context.Canceled {
		s.fail(fmt.Errorf("%s %d in %s (encrypted: %v): %w", act.name, n, r.id, r.encrypted, err))
	}
}

// tell sends a message that must have exactly one answer: want, or any if that is "".
func (s *soak) tell(ctx context.Context, r *room, text, want string) (event string, err error) {
	if event, err = s.alice.Say(ctx, r.id, text); err != nil {
		return "", err
	}
	return event, s.expect(r, event, want)
}

// expect records that an event must have exactly one answer.
func (s *soak) expect(r *room, event, want string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, asked{r.id, event, want})
	return nil
}

// answered waits for an answer.
func (s *soak) answered(ctx context.Context, r *room, event, want string) error {
	m, err := s.heard(ctx, r, event, func(m person.Msg) bool { return !isQuestion(m) }, want)
	if err != nil {
		return fmt.Errorf("no answer to %s: %w", event, err)
	}
	if !says(m, want) {
		return fmt.Errorf("%s was answered by %q, not by %q", event, m.Body, want)
	}
	return nil
}

// heard waits for an answer of a kind to an event. A homeserver that was killed may have taken a message twice. In an
// encrypted room the bot then says of one event that it is a copy; the answer, which contains the words, is to the
// other one, which takes the place of the copy in what was asked.
func (s *soak) heard(ctx context.Context, r *room, event string,
	kind func(person.Msg) bool, words string) (person.Msg, error) {
	m, err := s.alice.Wait(ctx, r.id,
		func(m person.Msg) bool { return s.answers(m, event) && kind(m) || s.isCopy(m, event) })
	if err != nil || !s.isCopy(m, event) {
		return m, err
	}
	m, err = s.alice.Wait(ctx, r.id, func(m person.Msg) bool {
		return m.Sender == s.bot.ID() && m.Final() && kind(m) && strings.Contains(m.Body, words) && !s.isAsked(m.ReplyTo)
	})
	if err != nil {
		return m, fmt.Errorf("%s is a copy: %w", event, err)
	}
	s.say("%s in %s is a copy of %s", event, r.id, m.ReplyTo)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.asked {
		if s.asked[i].event == event {
			s.asked[i].event = m.ReplyTo
		}
	}
	return m, nil
}

// isCopy reports whether the bot says that an event is a copy.
func (s *soak) isCopy(m person.Msg, event string) bool {
	return m.Sender == s.bot.ID() && m.ReplyTo == event && strings.Contains(m.Body, "looks like a copy")
}

// isAsked reports whether an event is known to be asked something.
func (s *soak) isAsked(event string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.asked, func(a asked) bool { return a.event == event })
}

func (s *soak) answers(m person.Msg, event string) bool {
	return m.Sender == s.bot.ID() && m.Final() && m.Answers(event)
}

func isQuestion(m person.Msg) bool { return strings.HasPrefix(m.Body, "❓ ") }

// says reports whether an answer is want, except for its last line about cost.
func says(m person.Msg, want string) bool {
	return m.Body == want || strings.HasPrefix(m.Body, want+"\n")
}

func (s *soak) task(ctx context.Context, r *room, n int) error {
	want := fmt.Sprint("got ", n)
	event, err := s.tell(ctx, r, fmt.Sprint("number ", n), want)
	if err != nil {
		return err
	}
	return s.answered(ctx, r, event, want)
}

// burst sends three messages at once: the bot may answer them together, with the last one.
func (s *soak) burst(ctx context.Context, r *room, n int) error {
	for i := range 2 {
		if _, err := s.alice.Say(ctx, r.id, fmt.Sprintf("and think of %d.%d", n, i)); err != nil {
			return err
		}
	}
	event, err := s.tell(ctx, r, fmt.Sprint("number ", n), "")
	if err != nil {
		return err
	}
	_, err = s.heard(ctx, r, event, func(person.Msg) bool { return true }, fmt.Sprint("got ", n))
	return err
}

func (s *soak) question(ctx context.Context, r *room, n int) error {
	event, err := s.tell(ctx, r, fmt.Sprint("question ", n), fmt.Sprint("chose ", n))
	if err != nil {
		return err
	}
	which := fmt.Sprintf("Which one for %d?", n)
	asked, err := s.heard(ctx, r, event, isQuestion, which)
	if err != nil {
		return fmt.Errorf("no question about %s: %w", event, err)
	}
	if !strings.Contains(asked.Body, which) {
		return fmt.Errorf("%s led to the question %q", event, asked.Body)
	}
	if _, err := s.alice.Reply(ctx, r.id, asked.Event, fmt.Sprint("choice ", n)); err != nil {
		return err
	}
	return s.answered(ctx, r, cmp.Or(asked.ReplyTo, event), fmt.Sprint("chose ", n))
}

func (s *soak) fileIn(ctx context.Context, r *room, n int) error {
	event, err := s.alice.SendParcel(ctx, r.id, person.Parcel{Name: fmt.Sprintf("note-%d.txt", n), Data: []byte("a note")})
	if err != nil {
		return err
	}
	want := fmt.Sprint("read ", n)
	if err := s.expect(r, event, want); err != nil {
		return err
	}
	return s.answered(ctx, r, event, want)
}

func (s *soak) fileOut(ctx context.Context, r *room, n int) error {
	event, err := s.tell(ctx, r, fmt.Sprint("file ", n), "made it")
	if err != nil {
		return err
	}
	if err := s.answered(ctx, r, event, "made it"); err != nil {
		return err
	}
	name := fmt.Sprintf("made-%d.txt", n)
	file, err := s.alice.Wait(ctx, r.id,
		func(m person.Msg) bool { return m.Sender == s.bot.ID() && m.Kind == "m.file" && m.Body == name })
	if err != nil {
		return fmt.Errorf("the file %s has not come: %w", name, err)
	}
	data, err := s.alice.Download(ctx, file)
	if err == nil && strings.TrimSpace(string(data)) != fmt.Sprint(n) {
		err = fmt.Errorf("the file %s has the content %q", name, data)
	}
	return err
}

// move leaves the room for a new one of the same kind.
func (s *soak) move(ctx context.Context, r *room, _ int) error {
	fresh, err := s.makeRoom(ctx, r.encrypted)
	if err != nil {
		return err
	}
	if err := s.checkRoom(ctx, r.id); err != nil { // she cannot read it later
		return err
	}
	err = s.alice.Leave(ctx, r.id)
	// she has left, and the homeserver died before it said so
	if err != nil && !strings.Contains(err.Error(), "is not joined") {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[slices.Index(s.rooms, r)] = fresh
	return nil
}
