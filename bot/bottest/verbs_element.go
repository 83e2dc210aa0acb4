package bottest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"matrix-tui/bot/bottest/element"
	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// elementVerbs are the second words of the verb element, after a person's name. Patterns match messages as Element shows
// them: decrypted and with their edits.
var elementVerbs = map[string]struct {
	min, max int // number of words after it
	do       func(sc *script, ctx context.Context, e *elementUser, args []string) error
}{
	"room":   {2, 9, (*script).elementRoom},   // ROOM USER…: a new encrypted room with these users; a running bot joins
	"invite": {2, 2, (*script).elementInvite}, // ROOM USER: with the keys of what was said before
	"say":    {2, 2, (*script).elementSay},    // ROOM TEXT
	"reply":  {3, 3, (*script).elementReply},  // ROOM REGEXP TEXT: to the newest matching message of somebody else
	"react":  {3, 3, (*script).elementReact},  // ROOM REGEXP KEY: to the same
	"edit":   {3, 3, (*script).elementEdit},   // ROOM REGEXP TEXT: of the newest matching message of this person
	"upload": {2, 2, (*script).elementUpload}, // ROOM FILE
	"expect": {2, 2, (*script).elementExpect}, // ROOM REGEXP: an encrypted message of somebody else, each once
	"file":   {3, 3, (*script).elementFile},   // ROOM REGEXP CONTENT: the newest file with such a name, decrypted
	"verify": {0, 1, (*script).elementVerify}, // [ROOM]: as the verb verify
	"again":  {0, 0, (*script).elementAgain},  // log in again: the new session has the recovery key and nothing else
	"trusts": {1, 1, (*script).elementTrusts}, // signed|verified: nothing in the rooms has a warning, and this is what all devices of the bot are
}

// elementUser is a person with a client on Element's engine. Another session of the account, without keys, reads what is
// not encrypted, for other verbs.
type elementUser struct {
	*element.Client
	name     string
	expected map[string]bool // events with their text
}

// content is what the verbs need of a message.
type content struct {
	Body    string `json:"body"`
	MsgType string `json:"msgtype"`
	Relates struct {
		Type string `json:"rel_type"`
	} `json:"m.relates_to"`
	File json.RawMessage `json:"file"`
}

func doElement(ctx context.Context, sc *script, _ bool, args []string) error {
	name, args := args[0], args[1:]
	if len(args) == 0 {
		return sc.elementLogIn(ctx, name)
	}
	v, ok := elementVerbs[args[0]]
	if !ok || len(args)-1 < v.min || len(args)-1 > v.max {
		return fmt.Errorf("element %s: no such verb, or a wrong number of arguments", args[0])
	}
	e := sc.elements[name]
	if e == nil {
		return fmt.Errorf("%s has no such client: element %s comes first", name, name)
	}
	if err := v.do(sc, ctx, e, args[1:]); err != nil {
		return fmt.Errorf("%s: %w\n%s", args[0], err, host.Tail(filepath.Join(sc.elementDir(name), "client.log"), 3000))
	}
	return nil
}

func (sc *script) elementDir(name string) string { return filepath.Join(sc.dir, "element-"+name) }

func (sc *script) elementLogIn(ctx context.Context, name string) error {
	if err := sc.logIn(ctx, name, name, person.NoKeys); err != nil {
		return err
	}
	dir := sc.elementDir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	client, err := element.Launch(dir, filepath.Join(sc.suite.repo, "deploy", "clients", "js", "client.mjs"))
	if err != nil {
		return err
	}
	sc.elements[name] = &elementUser{Client: client, name: name, expected: map[string]bool{}}
	return client.Do(ctx, "login", map[string]any{"homeserver": sc.home.URL(), "user": sc.people[name].ID(), "password": "password-" + name}, nil)
}

func (sc *script) elementRoom(ctx context.Context, e *elementUser, args []string) error {
	var invite []string
	for _, user := range args[1:] {
		id, err := sc.userID(ctx, user)
		if err != nil {
			return err
		}
		invite = append(invite, id)
	}
	var id string
	if err := e.Do(ctx, "create", map[string]any{"name": args[0], "invite": invite}, &id); err != nil {
		return err
	}
	sc.enroll(args[0], id, e.name)
	return sc.enterAll(ctx, args[1:], id, e)
}

func (sc *script) elementInvite(ctx context.Context, e *elementUser, args []string) error {
	user, err := sc.userID(ctx, args[1])
	if err != nil {
		return err
	}
	room := sc.rooms[args[0]].id
	if err := e.Do(ctx, "invite", map[string]any{"room": room, "user": user}, nil); err != nil {
		return err
	}
	return sc.enterAll(ctx, args[1:], room, e)
}

// enterAll lets invited users in; those with Element's engine join with it.
func (sc *script) enterAll(ctx context.Context, users []string, room string, by *elementUser) error {
	for _, user := range users {
		if e := sc.elements[user]; e != nil {
			if err := e.Do(ctx, "join", map[string]any{"room": room}, nil); err != nil {
				return err
			}
		} else if err := sc.enter(ctx, user, room, sc.people[by.name]); err != nil {
			return err
		}
	}
	return nil
}

// elementSend sends a message that the bot must finish, or something else, such as a reaction.
func (sc *script) elementSend(ctx context.Context, e *elementUser, room, kind string, content map[string]any) error {
	var event string
	if err := e.Do(ctx, "send", map[string]any{"room": room, "type": kind, "content": content}, &event); err != nil {
		return err
	}
	if kind == "m.room.message" && content["m.new_content"] == nil {
		sc.note(sc.people[e.name], room, event)
	}
	_, err := e.Wait(ctx, func(ev element.Event) bool { return ev.ID == event })
	return err
}

func (sc *script) elementSay(ctx context.Context, e *elementUser, args []string) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	return sc.elementSend(ctx, e, r.id, "m.room.message", map[string]any{"msgtype": "m.text", "body": args[1], "m.mentions": person.Mentions(args[1])})
}

// elementPick finds the newest message that matches, of this person or of others.
func (sc *script) elementPick(e *elementUser, place, pattern string, mine bool) (room string, ev element.Event, c content, err error) {
	r, err := sc.room(place)
	if err != nil {
		return "", ev, c, err
	}
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return "", ev, c, err
	}
	ev, ok := e.Newest(func(ev element.Event) bool {
		m, isMessage := shown(ev, r.id)
		return isMessage && (ev.Sender == sc.people[e.name].ID()) == mine && re.MatchString(m.Body)
	})
	if !ok {
		return "", ev, c, fmt.Errorf("no message fits %q", pattern)
	}
	c, _ = shown(ev, r.id)
	return r.id, ev, c, nil
}

// shown returns the content of an event that Element shows as a message of the room.
func shown(ev element.Event, room string) (c content, ok bool) {
	if ev.Room != room || ev.Type != "m.room.message" || ev.Failure != "" || json.Unmarshal(ev.Content, &c) != nil {
		return c, false
	}
	return c, c.Relates.Type != "m.replace"
}

func (sc *script) elementReply(ctx context.Context, e *elementUser, args []string) error {
	room, ev, _, err := sc.elementPick(e, args[0], args[1], false)
	if err != nil {
		return err
	}
	return sc.elementSend(ctx, e, room, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": args[2], "m.mentions": map[string]any{"user_ids": []string{ev.Sender}},
		"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": ev.ID}},
	})
}

func (sc *script) elementReact(ctx context.Context, e *elementUser, args []string) error {
	room, ev, _, err := sc.elementPick(e, args[0], args[1], false)
	if err != nil {
		return err
	}
	return sc.elementSend(ctx, e, room, "m.reaction", map[string]any{
		"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": ev.ID, "key": args[2]},
	})
}

func (sc *script) elementEdit(ctx context.Context, e *elementUser, args []string) error {
	room, ev, _, err := sc.elementPick(e, args[0], args[1], true)
	if err != nil {
		return err
	}
	return sc.elementSend(ctx, e, room, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": "* " + args[2], "m.mentions": map[string]any{},
		"m.new_content": map[string]any{"msgtype": "m.text", "body": args[2], "m.mentions": map[string]any{}},
		"m.relates_to":  map[string]any{"rel_type": "m.replace", "event_id": ev.ID},
	})
}

func (sc *script) elementUpload(ctx context.Context, e *elementUser, args []string) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(sc.work, args[1]))
	if err != nil {
		return err
	}
	var file map[string]any
	if err := e.Do(ctx, "upload", map[string]any{"name": args[1], "type": "text/plain", "data": base64.StdEncoding.EncodeToString(data)}, &file); err != nil {
		return err
	}
	return sc.elementSend(ctx, e, r.id, "m.room.message", file)
}

func (sc *script) elementExpect(ctx context.Context, e *elementUser, args []string) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	re, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	var m content
	ev, err := e.Wait(ctx, func(ev element.Event) bool {
		var ok bool
		m, ok = shown(ev, r.id)
		return ok && ev.Sender != sc.people[e.name].ID() && re.MatchString(m.Body) && !e.expected[ev.ID+m.Body]
	})
	if err != nil {
		return fmt.Errorf("nothing new fits %q: %w", args[1], err)
	}
	if !ev.Encrypted {
		return fmt.Errorf("%q is not encrypted", m.Body)
	}
	e.expected[ev.ID+m.Body] = true
	fmt.Fprintln(sc.ts.Stdout(), m.Body)
	return nil
}

func (sc *script) elementFile(ctx context.Context, e *elementUser, args []string) error {
	_, _, m, err := sc.elementPick(e, args[0], args[1], false)
	if err != nil {
		return err
	}
	var data string
	if err := e.Do(ctx, "download", map[string]any{"file": m.File}, &data); err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return err
	}
	if ok, err := regexp.Match(args[2], text); err != nil || !ok {
		return fmt.Errorf("%s (%d bytes) begins with %q", m.Body, len(text), cut(string(text), 200))
	}
	return nil
}
