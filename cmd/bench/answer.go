package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/bottest/person"
)

// measureAnswer measures the time from an answer in the room to the model's next request. In turns with that it
// measures a bare `podman exec` of the CLI in the same container, with the argv and the environment that the bot uses,
// in a separate session.
func measureAnswer(ctx context.Context, b *bench) (err error) {
	s, room, err := b.openRoom(ctx, "answer")
	if err != nil {
		return err
	}
	defer s.close(&err)
	task, err := s.question(ctx, room, "1000")
	if err != nil {
		return fmt.Errorf("first question: %w", err)
	}
	bare, err := s.capture(ctx, room, "ponder 1000", func() error {
		_, err := s.answer(ctx, room, task, "ponder 1000", "pondered 1000")
		return err
	})
	if err != nil {
		return err
	}
	defer bare.close(ctx, &err)
	bare.clocked = true
	if err := bare.warmUp(ctx, "choice 1001", "chose 1001"); err != nil {
		return err
	}
	var asked, bares, clis, ours, beyond []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		task, err := s.question(ctx, room, number)
		if err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.parked(ctx, room); err != nil {
			return err
		}
		mark := s.mark()
		begun, err := s.answer(ctx, room, task, "choice "+number, "chose "+number)
		if err != nil {
			return err
		}
		first, _, err := s.asked(mark, "choice "+number)
		if err != nil {
			return err
		}
		answer := first.Sub(begun)
		if err := s.settle(ctx); err != nil {
			return err
		}
		mark = s.mark()
		run, err := bare.run(ctx, "choice "+number, "chose "+number)
		if err != nil {
			return err
		}
		if first, _, err = s.asked(mark, "choice "+number); err != nil {
			return err
		}
		alone, cli := first.Sub(run.begun), first.Sub(run.inside)
		asked, bares, clis = append(asked, ms(answer)), append(bares, ms(alone)), append(clis, ms(cli))
		ours, beyond = append(ours, ms(answer-alone)), append(beyond, ms(answer-cli))
	}
	b.table.add("answer sent → the model's next request, the agent waits", "ms", 100, asked...)
	b.table.add("the same argv by bare podman exec → model request", "ms", 0, bares...)
	b.table.add("answer → next request minus bare podman exec (pair by pair)", "ms", 0, ours...)
	b.table.add("  the CLI alone: its start in the container → model request", "ms", 0, clis...)
	b.table.add("  answer → next request minus the CLI alone", "ms", 0, beyond...)
	return nil
}

// question gives a task that asks a question, and waits for it. It returns the task's event.
func (s *scene) question(ctx context.Context, room, number string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	task, err := s.alice.Say(ctx, room, "question "+number)
	if err != nil {
		return "", err
	}
	asked, err := s.final(ctx, room, task)
	if err == nil && !strings.Contains(asked.Body, "Which one for "+number+"?") {
		err = fmt.Errorf("question %s was answered by %q", number, asked.Body)
	}
	return task, err
}

// answer sends a message while a task waits, expects want as the result and returns the time at which it was sent.
func (s *scene) answer(ctx context.Context, room, task, text, want string) (begun time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	begun = time.Now()
	if _, err := s.alice.Say(ctx, room, text); err != nil {
		return begun, err
	}
	_, err = s.alice.Wait(ctx, room, func(m person.Msg) bool {
		return m.Sender == s.ID() && m.Final() && m.Answers(task) && says(m, want)
	})
	return begun, err
}
