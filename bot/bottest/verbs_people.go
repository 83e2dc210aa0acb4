package bottest

import (
	"context"
	"fmt"
	"regexp"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

func (sc *script) person(name string) (*person.Person, error) {
	if p := sc.people[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("nobody is called %s: user %s comes first", name, name)
}

// who finds a person and a room by their names.
func (sc *script) who(name, place string) (*person.Person, string, error) {
	p, err := sc.person(name)
	if err != nil {
		return nil, "", err
	}
	r, err := sc.room(place)
	if err != nil {
		return nil, "", err
	}
	return p, r.id, nil
}

// looking finds a person, a room and a pattern, from a verb's first arguments, WHO ROOM REGEXP.
func (sc *script) looking(args []string) (*person.Person, string, *regexp.Regexp, error) {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return nil, "", nil, err
	}
	re, err := regexp.Compile(args[2])
	return p, room, re, err
}

func (sc *script) room(name string) (*room, error) {
	r := sc.rooms[name]
	if r == nil {
		return nil, fmt.Errorf("no room is called %s", name)
	}
	return r, nil
}

// roomAndPattern reads the arguments ROOM REGEXP.
func (sc *script) roomAndPattern(args []string) (*room, *regexp.Regexp, error) {
	r, err := sc.room(args[0])
	if err != nil {
		return nil, nil, err
	}
	re, err := regexp.Compile(args[1])
	return r, re, err
}

// userID returns the ID of a person or of the bot.
func (sc *script) userID(ctx context.Context, name string) (string, error) {
	if name == "bot" {
		err := sc.account(ctx)
		return sc.bot.id, err
	}
	p, err := sc.person(name)
	if err != nil {
		return "", err
	}
	return p.ID(), nil
}

// doUser creates accounts; unsigned leaves them without a cross-signing identity.
func doUser(ctx context.Context, sc *script, _ bool, args []string) error {
	keys := person.SignedKeys
	if args[0] == "-unsigned" {
		keys, args = person.UnsignedKeys, args[1:]
	}
	for _, name := range args {
		if err := sc.logIn(ctx, name, name, keys); err != nil {
			return err
		}
	}
	return nil
}

// doDevice gives somebody another device that nobody signs, as a homeserver would that wants to read along.
func doDevice(ctx context.Context, sc *script, _ bool, args []string) error {
	if _, err := sc.person(args[1]); err != nil {
		return err
	}
	return sc.logIn(ctx, args[0], args[1], person.UnsignedKeys)
}

// doSign makes somebody's identity sign another of their devices.
func doSign(ctx context.Context, sc *script, _ bool, args []string) error {
	p, err := sc.person(args[0])
	if err != nil {
		return err
	}
	other, err := sc.person(args[1])
	if err != nil {
		return err
	}
	return p.Sign(ctx, other)
}

// logIn opens a session of an account, which is created if it does not exist.
func (sc *script) logIn(ctx context.Context, name, account string, keys person.Keys) error {
	p, err := person.Enter(ctx, person.Config{
		Homeserver: sc.home.URL(), Name: account + "-" + sc.name, Password: "password-" + account, Log: zerolog.Nop(),
		Keys: keys,
	})
	if err != nil {
		return err
	}
	if old := sc.people[name]; old != nil {
		old.Close()
	}
	sc.people[name] = p
	sc.ts.Setenv(name, p.ID())
	return nil
}

func doRoom(ctx context.Context, sc *script, _ bool, args []string) error {
	name, users := args[0], args[1:]
	spec := person.RoomSpec{Name: name, Encrypted: sc.encrypted}
	how := users[len(users)-1]
	if how == "encrypted" || how == "clear" {
		spec.Encrypted, users = how == "encrypted", users[:len(users)-1]
	}
	maker, err := sc.person(users[0])
	if err != nil {
		return err
	}
	for _, user := range users[1:] {
		id, err := sc.userID(ctx, user)
		if err != nil {
			return err
		}
		spec.Invite = append(spec.Invite, id)
	}
	id, err := maker.CreateRoom(ctx, spec)
	if err != nil {
		return err
	}
	sc.enroll(name, id, users[0])
	sc.rooms[name].clear = how == "clear"
	for _, user := range users[1:] {
		if err := sc.enter(ctx, user, id, maker); err != nil {
			return err
		}
	}
	return nil
}

// enroll registers a room with the script.
func (sc *script) enroll(name, id, by string) {
	sc.rooms[name] = &room{id: id, by: by}
	container := sc.container(id)
	volumes := host.Volumes(container)
	sc.ts.Setenv(name, id)
	sc.ts.Setenv(name+"_container", container)
	sc.ts.Setenv(name+"_workspace", volumes[0])
	sc.ts.Setenv(name+"_home", volumes[1])
}

// enter lets an invited user in: a person joins; for a running bot it waits.
func (sc *script) enter(ctx context.Context, user, room string, seenBy *person.Person) error {
	if user != "bot" {
		p, err := sc.person(user)
		if err != nil {
			return err
		}
		if err := p.WaitInvite(ctx, room); err != nil {
			return err
		}
		return p.Join(ctx, room)
	}
	if !sc.bot.proc.Alive() {
		return nil
	}
	return membership(ctx, seenBy, room, sc.bot.id, true)
}

// membership waits until the newest member event of the user has this membership.
func membership(ctx context.Context, p *person.Person, room, user string, in bool) error {
	state := ""
	_, err := p.Wait(ctx, room, func(m person.Msg) bool {
		if m.Type == "m.room.member" && m.Member == user {
			state = m.Membership
		}
		return state != "" && (state == "join") == in
	})
	if err != nil {
		return fmt.Errorf("%s in the room %v: membership is %q: %w", user, in, state, err)
	}
	return nil
}

// toRoom makes a verb, USER ROOM, of something a person does to a room.
func toRoom(do func(p *person.Person, ctx context.Context, room string) error) doer {
	return func(ctx context.Context, sc *script, _ bool, args []string) error {
		p, room, err := sc.who(args[0], args[1])
		if err != nil {
			return err
		}
		return do(p, ctx, room)
	}
}

// toUser makes a verb, USER ROOM WHO, of something a person does to a user in a room.
func toUser(do func(p *person.Person, ctx context.Context, room, user string) error) doer {
	return func(ctx context.Context, sc *script, _ bool, args []string) error {
		p, room, err := sc.who(args[0], args[1])
		if err != nil {
			return err
		}
		user, err := sc.userID(ctx, args[2])
		if err != nil {
			return err
		}
		return do(p, ctx, room, user)
	}
}

func doTombstone(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	other, err := sc.room(args[2])
	if err != nil {
		return err
	}
	return p.SetState(ctx, room, "m.room.tombstone", map[string]string{"body": "moved", "replacement_room": other.id})
}

func doUpgrade(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	next := ""
	if len(args) < 4 {
		next, err = p.Upgrade(ctx, room, "11")
	} else if next, err = p.CreateRoom(ctx, person.RoomSpec{Name: args[2], Replaces: room}); err == nil {
		err = p.SetState(ctx, room, "m.room.tombstone", map[string]string{"body": "moved", "replacement_room": next})
	}
	if err != nil {
		return err
	}
	sc.enroll(args[2], next, args[0])
	return nil
}
