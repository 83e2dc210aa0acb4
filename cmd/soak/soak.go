package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest"
	"matrix-tui/bot/bottest/person"
)

const (
	// answerTime is how long anything may take, whatever is killed meanwhile. A Dendrite that is killed while it takes
	// something delivers it up to ten minutes later: it was seen with messages and with joins.
	answerTime = 20 * time.Minute
	quietTime  = 10 * time.Minute // in which the bot must finish everything at the end of a phase
	token      = "soak"           // of the HTTP API
)

// soak is one run of the program.
type soak struct {
	length, pause time.Duration
	people        int
	begun         time.Time
	host          *bottest.Host
	bot           *bottest.Bot
	alice         *person.Person

	mu      sync.Mutex // guards the fields below
	dice    *rand.Rand
	rooms   []*room
	busy    map[string]bool // rooms in which a person is active
	next    int             // number of the next action
	asked   []asked
	kills   map[victim]int
	samples []sample
	failed  []error
}

// room is one room; it is replaced by a new one when Alice leaves it.
type room struct {
	id        string
	encrypted bool
}

// asked is a message that must have exactly one answer.
type asked struct {
	room, event, want string
}

// rules are the model's: it answers at once. Those for answers to questions come first, because such a prompt also
// contains the task.
const rules = `
rules:
  - when: '\]: choice (\d+)'
    say: 'chose {{1}}'
  - when: '\]: question (\d+)'
    say: "<<<NEED_INPUT>>>\nWhich one for {{1}}?\n<<<CONTEXT>>>\nThere are several.\n<<<END_INPUT>>>"
  - when: '\]: number (\d+)'
    say: 'got {{1}}'
  - when: 'named note-(\d+)\.txt'
    say: 'read {{1}}'
  - when: '\]: file (\d+)'
    call:
      - name: run_shell_command
        args: {command: 'mkdir -p /workspace/outbox; echo {{1}} > /workspace/outbox/made-{{1}}.txt'}
  - tool: '^run_shell_command'
    say: 'made it'
`

// open creates the bot and Alice, and starts the bot.
func (s *soak) open(ctx context.Context) error {
	script, err := agenttest.Load([]byte(rules))
	if err != nil {
		return err
	}
	s.kills = map[victim]int{}
	if s.bot, err = s.host.NewBot(ctx, "soak", map[string]string{"LOG_LEVEL": "info", "API_LISTEN": "0",
		"API_TOKEN": token}); err != nil {
		return err
	}
	s.bot.Model().SetScript(script)
	s.alice, err = s.host.KeyedPerson(ctx, "alice-soak", "password-alice")
	if err != nil {
		return errors.Join(err, s.bot.Close())
	}
	return s.launch(ctx)
}

func (s *soak) close() error {
	s.alice.Close()
	return s.bot.Close()
}

// launch starts the bot and waits until it is ready.
func (s *soak) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := s.bot.Launch(ctx); err != nil {
		return err
	}
	return s.bot.Ready(ctx)
}

// restart stops the bot as an operator does, and starts it again.
func (s *soak) restart(ctx context.Context) error {
	if err := s.bot.Stop(ctx); err != nil {
		return err
	}
	return s.launch(ctx)
}

// makeRooms creates the rooms, every other one encrypted.
func (s *soak) makeRooms(ctx context.Context, n int) error {
	s.rooms = make([]*room, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range n {
		group.Go(func() (err error) {
			s.rooms[i], err = s.makeRoom(ctx, i%2 == 1)
			return err
		})
	}
	return group.Wait()
}

// makeRoom creates a room and waits for the bot's greeting.
func (s *soak) makeRoom(ctx context.Context, encrypted bool) (*room, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	id, err := s.alice.CreateRoom(ctx, person.RoomSpec{Invite: []string{s.bot.ID()}, Encrypted: encrypted})
	if err != nil {
		return nil, err
	}
	s.bot.Own(id)
	_, err = s.alice.Wait(ctx, id, func(m person.Msg) bool { return m.Sender == s.bot.ID() && m.Kind == "m.notice" })
	if err != nil {
		return nil, fmt.Errorf("the bot has not greeted in room %s (encrypted: %v): %w", id, encrypted, err)
	}
	return &room{id, encrypted}, nil
}

// phase lets people work and things be killed for some time, and then waits until the bot has finished everything.
func (s *soak) phase(ctx context.Context, name string, length time.Duration, victims []victim) error {
	s.say("%s, %v", name, length)
	work, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error { return s.kill(work, ctx, victims) })
	group.Go(func() error { return s.watch(work) })
	for range s.people {
		group.Go(func() error {
			for work.Err() == nil {
				s.act(ctx) // to its end, even if the time is up
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	quiet, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	if err := s.bot.Quiet(quiet); err != nil {
		return err
	}
	s.say("%s: quiet", name)
	return errors.Join(ctx.Err(), s.take(ctx))
}

// choose returns a number below n.
func (s *soak) choose(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.IntN(n)
}

// fail records what went wrong; the run goes on.
func (s *soak) fail(err error) {
	s.say("FAILED: %v", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
}
