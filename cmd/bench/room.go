package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest"
	"matrix-tui/bot/bottest/person"
)

// rules are the model's. It answers at once, except for "hold" and "ponder", during which the CLI can be inspected. The
// rule for answers to questions comes first, because such a prompt also contains the task.
const rules = `
rules:
  - when: '\]: choice (\d+)'
    say: 'chose {{1}}'
  - when: '\]: ponder (\d+)'
    delay: 5s
    say: 'pondered {{1}}'
  - when: '\]: question (\d+)'
    say: "<<<NEED_INPUT>>>\nWhich one for {{1}}?\n<<<CONTEXT>>>\nThere are several.\n<<<END_INPUT>>>"
  - when: '\]: number (\d+)'
    say: 'got {{1}}'
  - when: '\]: hold (\d+)'
    delay: 5s
    say: 'held {{1}}'
`

// scene is a bot and a person who talks to it.
type scene struct {
	*bottest.Bot
	alice *person.Person
}

// open creates a bot, which is not launched yet, and its person.
func (b *bench) open(ctx context.Context, name string, settings ...string) (*scene, error) {
	script, err := agenttest.Load([]byte(rules))
	if err != nil {
		return nil, err
	}
	own := map[string]string{"LOG_LEVEL": "info"}
	for _, one := range settings {
		key, value, _ := strings.Cut(one, "=")
		own[key] = value
	}
	bot, err := b.host.NewBot(ctx, "bench-"+name, own)
	if err != nil {
		return nil, err
	}
	bot.Model().SetScript(script)
	alice, err := b.host.Person(ctx, "alice-"+name, "password-alice")
	if err != nil {
		return nil, errors.Join(err, bot.Close())
	}
	return &scene{bot, alice}, nil
}

// openRoom opens a scene, starts its bot and creates a room. The caller closes the scene.
func (b *bench) openRoom(ctx context.Context, name string) (s *scene, room string, err error) {
	if s, err = b.open(ctx, name); err != nil {
		return nil, "", err
	}
	if _, err = s.start(ctx); err == nil {
		room, err = s.room(ctx)
	}
	if err != nil {
		s.close(&err)
		return nil, "", err
	}
	return s, room, nil
}

// startEach starts the bots one after the other and adds the time that each took.
func startEach(ctx context.Context, scenes []*scene, ready [][]float64) error {
	for i, s := range scenes {
		took, err := s.start(ctx)
		if err != nil {
			return err
		}
		ready[i] = append(ready[i], ms(took))
	}
	return nil
}

// close adds its errors to the error of the function that defers it.
func (s *scene) close(err *error) {
	s.alice.Close()
	*err = errors.Join(*err, s.Bot.Close())
}

// start launches the bot and returns how long it took to be ready.
func (s *scene) start(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	if err := s.Launch(ctx); err != nil {
		return 0, err
	}
	for !strings.Contains(s.Log(), "ready") {
		if !s.Alive() {
			return 0, fmt.Errorf("the bot ended: %s", s.Log())
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return 0, fmt.Errorf("the bot is not ready: %w\n%s", err, s.Log())
		}
	}
	return time.Since(begun), nil
}

// room creates a room and waits until the running bot has said hello there.
func (s *scene) room(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	room, err := s.alice.CreateRoom(ctx, person.RoomSpec{Invite: []string{s.ID()}})
	if err != nil {
		return "", err
	}
	s.Own(room)
	_, err = s.alice.Wait(ctx, room, func(m person.Msg) bool { return m.Sender == s.ID() && m.Kind == "m.notice" })
	return room, err
}

// ask sends a message and returns the time until its answer, which must be want, was seen.
func (s *scene) ask(ctx context.Context, room, text, want string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	begun := time.Now()
	event, err := s.alice.Say(ctx, room, text)
	if err != nil {
		return 0, err
	}
	final, err := s.final(ctx, room, event)
	took := time.Since(begun)
	if err == nil && !says(final, want) {
		err = fmt.Errorf("%q was answered by %q, not by %q", text, final.Body, want)
	}
	return took, err
}

// says reports whether an answer is want, except for its last line about cost.
func says(m person.Msg, want string) bool {
	return m.Body == want || strings.HasPrefix(m.Body, want+"\n")
}

// final waits for the answer to an event.
func (s *scene) final(ctx context.Context, room, event string) (person.Msg, error) {
	return s.alice.Wait(ctx, room, func(m person.Msg) bool { return m.Sender == s.ID() && m.Final() && m.Answers(event) })
}

// joined creates rooms with the bot as a member, and those of more scenes, while none of them runs: a second session of
// each account joins.
func (s *scene) joined(ctx context.Context, b *bench, n int, more ...*scene) (rooms []string, err error) {
	var bots []string
	var selves []*person.Person
	for _, one := range append([]*scene{s}, more...) {
		name, password := one.Login()
		self, err := b.host.Person(ctx, name, password)
		if err != nil {
			return nil, err
		}
		self.Close() // joins without a sync, which takes a homeserver the longer, the more rooms there are
		bots, selves = append(bots, one.ID()), append(selves, self)
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for range n {
		group.Go(func() error {
			room, err := s.alice.CreateRoom(ctx, person.RoomSpec{Invite: bots})
			if err != nil {
				return err
			}
			mu.Lock()
			rooms = append(rooms, room)
			mu.Unlock()
			for _, self := range selves {
				if err := self.Join(ctx, room); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return rooms, group.Wait()
}

// seed writes a state.json with rooms of 50 turns of 200 characters each, and the containers of some of them.
func (s *scene) seed(rooms []string, containers map[string]string) error {
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Event   string `json:"event"`
	}
	history, sessions := map[string][]turn{}, map[string]string{}
	text := strings.Repeat("Created utils.py with is_prime(). ", 6)[:200]
	for i, room := range rooms {
		for t := range 50 {
			event := fmt.Sprintf("$%032x%08x%03d", i*7919, i, t/2)
			history[room] = append(history[room], turn{[]string{"user", "assistant"}[t%2], text, event})
		}
		sessions[room] = fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
	}
	data, err := json.Marshal(map[string]any{"containers": containers, "history": history, "sessions": sessions})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.StateDir(), "state.json"), data, 0o600)
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
