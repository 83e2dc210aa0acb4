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

// elementVerbs are the second words of the verb element, after a person's name. Patterns match messages as Element
// shows them: decrypted and with their edits.
var elementVerbs = map[string]struct {
	min, max int // number of words after it
	do       func(sc *script, ctx context.Context, e *elementUser, args []string) error
}{
	// ROOM USER…: a new encrypted room with these users; a running bot joins
	"room": {2, 9, (*script).elementRoom},
	// ROOM USER TEXT: a new direct chat with its first message, sent before the user can have joined
	"direct": {3, 3, (*script).elementDirect},
	"invite": {2, 2, (*script).elementInvite}, // ROOM USER: with the keys of what was said before
	"say":    {2, 2, (*script).elementSay},    // ROOM TEXT: a user's ID in it is a pill
	"reply":  {3, 3, (*script).elementReply},  // ROOM REGEXP TEXT: to the newest matching message of somebody else
	// ROOM REGEXP: the words that the newest matching question asks for, as a reply
	"approve": {2, 2, (*script).elementApprove},
	// ROOM REGEXP TEXT: in the thread of the newest matching message, which may be its first one
	"thread": {3, 3, (*script).elementThread},
	"react":  {3, 3, (*script).elementReact},  // ROOM REGEXP KEY: to the newest matching message of somebody else
	"edit":   {3, 3, (*script).elementEdit},   // ROOM REGEXP TEXT: of the newest matching message of this person
	"redact": {2, 2, (*script).elementRedact}, // ROOM REGEXP: the same
	"typing": {1, 1, (*script).elementTyping}, // ROOM: begin to type
	"upload": {2, 2, (*script).elementUpload}, // ROOM FILE
	"expect": {2, 2, (*script).elementExpect}, // ROOM REGEXP: an encrypted message of somebody else, each once
	"clear":  {2, 2, (*script).elementClear},  // ROOM REGEXP: the same, but not encrypted
	// ROOM REGEXP ROOT: the newest matching message of somebody else is in the thread of ROOT, by its newest match
	"threaded": {3, 3, (*script).elementThreaded},
	// ROOM REGEXP: what Element's list of rooms shows of the room, when all is quiet
	"preview": {2, 2, (*script).elementPreview},
	"file":    {3, 3, (*script).elementFile},   // ROOM REGEXP CONTENT: the newest file with such a name, decrypted
	"verify":  {0, 1, (*script).elementVerify}, // [ROOM]: as the verb verify
	// [NAME]: create the account's identity, or enter the recovery key that NAME, another session of it, has
	"sign":  {0, 1, (*script).elementSign},
	"again": {0, 0, (*script).elementAgain}, // log in again: the new session has the recovery key and nothing else
	// signed|verified: nothing in the rooms has a warning, and this is what all devices of the bot are
	"trusts": {1, 1, (*script).elementTrusts},
}

// elementUser is a person with a client on Element's engine. Another session of the account, without keys, reads what
// is not encrypted, for other verbs.
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
		Type  string `json:"rel_type"`
		Event string `json:"event_id"`
	} `json:"m.relates_to"`
	File json.RawMessage `json:"file"`
}

func doElement(ctx context.Context, sc *script, _ bool, args []string) error {
	name, args := args[0], args[1:]
	switch {
	case len(args) == 0:
		return sc.elementLogIn(ctx, name, name, false)
	case args[0] == "unsigned" && len(args) < 3:
		return sc.elementLogIn(ctx, name, append(args, name)[1], true)
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

// elementLogIn opens a session of an account; an unsigned one leaves the account's identity alone.
func (sc *script) elementLogIn(ctx context.Context, name, account string, unsigned bool) error {
	if err := sc.logIn(ctx, name, account, person.NoKeys); err != nil {
		return err
	}
	dir := sc.elementDir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	client, err := element.Launch(dir, filepath.Join(sc.suite.repo, "deploy", "clients", "js"))
	if err != nil {
		return err
	}
	sc.elements[name] = &elementUser{Client: client, name: name, expected: map[string]bool{}}
	return client.Do(ctx, "login", map[string]any{"homeserver": sc.home.URL(), "user": sc.people[name].ID(),
		"password": "password-" + account, "unsigned": unsigned}, nil)
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

func (sc *script) elementExpect(ctx context.Context, e *elementUser, args []string) error {
	return sc.elementTake(ctx, e, args, true)
}

func (sc *script) elementClear(ctx context.Context, e *elementUser, args []string) error {
	return sc.elementTake(ctx, e, args, false)
}

// elementTake waits for a new message of somebody else.
func (sc *script) elementTake(ctx context.Context, e *elementUser, args []string, encrypted bool) error {
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
	if ev.Encrypted != encrypted {
		return fmt.Errorf("%q is encrypted: %v", m.Body, ev.Encrypted)
	}
	e.expected[ev.ID+m.Body] = true
	fmt.Fprintln(sc.ts.Stdout(), m.Body)
	return nil
}

func (sc *script) elementFile(ctx context.Context, e *elementUser, args []string) error {
	_, _, m, err := sc.elementPick(ctx, e, args[0], args[1], theirs)
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
