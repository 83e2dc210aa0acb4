package bottest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"regexp"

	"matrix-tui/bot/bottest/element"
)

// elementTell makes the client send something with a verb that returns the event. The bot must finish it if it is
// noted.
func (sc *script) elementTell(ctx context.Context, e *elementUser, noted bool, verb string, args map[string]any) error {
	var event string
	if err := e.Do(ctx, verb, args, &event); err != nil {
		return err
	}
	if noted {
		sc.note(sc.people[e.name], args["room"].(string), event)
	}
	_, err := e.Wait(ctx, func(ev element.Event) bool { return ev.ID == event })
	return err
}

// Whose messages elementPick considers.
const (
	mine = iota
	theirs
	everybodys
)

// elementPick finds the newest message that matches, and waits for one.
func (sc *script) elementPick(ctx context.Context, e *elementUser, place, pattern string,
	whose int) (room string, ev element.Event, c content, err error) {
	r, err := sc.room(place)
	if err != nil {
		return "", ev, c, err
	}
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return "", ev, c, err
	}
	fits := func(ev element.Event) bool {
		m, isMessage := shown(ev, r.id)
		of := theirs
		if ev.Sender == sc.people[e.name].ID() {
			of = mine
		}
		return isMessage && (whose == of || whose == everybodys) && re.MatchString(m.Body)
	}
	if _, err := e.Wait(ctx, fits); err != nil { // somebody else may have seen it earlier
		return "", ev, c, fmt.Errorf("no message fits %q: %w", pattern, err)
	}
	ev, _ = e.Newest(fits)
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

func (sc *script) elementSay(ctx context.Context, e *elementUser, args []string) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	return sc.elementTell(ctx, e, true, "say", map[string]any{"room": r.id, "text": args[1]})
}

// elementSayTo says something that relates to the newest matching message, as the client's verb say calls it.
func (sc *script) elementSayTo(ctx context.Context, e *elementUser, args []string, whose int, relation string) error {
	room, ev, _, err := sc.elementPick(ctx, e, args[0], args[1], whose)
	if err != nil {
		return err
	}
	return sc.elementTell(ctx, e, true, "say", map[string]any{"room": room, "text": args[2], relation: ev.ID})
}

func (sc *script) elementReply(ctx context.Context, e *elementUser, args []string) error {
	return sc.elementSayTo(ctx, e, args, theirs, "reply")
}

func (sc *script) elementApprove(ctx context.Context, e *elementUser, args []string) error {
	room, ev, question, err := sc.elementPick(ctx, e, args[0], args[1], theirs)
	if err != nil {
		return err
	}
	words := yesCode.FindString(question.Body)
	if words == "" {
		return fmt.Errorf("the question asks for no yes with a code: %s", cut(question.Body, 300))
	}
	return sc.elementTell(ctx, e, true, "say", map[string]any{"room": room, "text": words, "reply": ev.ID})
}

func (sc *script) elementThread(ctx context.Context, e *elementUser, args []string) error {
	return sc.elementSayTo(ctx, e, args, everybodys, "thread")
}

func (sc *script) elementEdit(ctx context.Context, e *elementUser, args []string) error {
	return sc.elementSayTo(ctx, e, args, mine, "edit")
}

func (sc *script) elementRedact(ctx context.Context, e *elementUser, args []string) error {
	room, ev, _, err := sc.elementPick(ctx, e, args[0], args[1], mine)
	if err != nil {
		return err
	}
	return sc.elementTell(ctx, e, true, "redact", map[string]any{"room": room, "event": ev.ID})
}

func (sc *script) elementReact(ctx context.Context, e *elementUser, args []string) error {
	room, ev, _, err := sc.elementPick(ctx, e, args[0], args[1], theirs)
	if err != nil {
		return err
	}
	return sc.elementTell(ctx, e, false, "send", map[string]any{"room": room, "type": "m.reaction",
		"content": map[string]any{
			"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": ev.ID, "key": args[2]},
		}})
}

func (sc *script) elementTyping(ctx context.Context, e *elementUser, args []string) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	return e.Do(ctx, "typing", map[string]any{"room": r.id}, nil)
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
	kind, _, _ := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(args[1])))
	var file map[string]any
	if err := e.Do(ctx, "upload", map[string]any{"name": args[1], "type": kind,
		"data": base64.StdEncoding.EncodeToString(data)}, &file); err != nil {
		return err
	}
	return sc.elementTell(ctx, e, true, "send", map[string]any{"room": r.id, "type": "m.room.message", "content": file})
}

func (sc *script) elementDirect(ctx context.Context, e *elementUser, args []string) error {
	user, err := sc.userID(ctx, args[1])
	if err != nil {
		return err
	}
	var id string
	if err := e.Do(ctx, "direct", map[string]any{"user": user}, &id); err != nil {
		return err
	}
	sc.enroll(args[0], id, e.name)
	return sc.elementSay(ctx, e, []string{args[0], args[2]})
}

func (sc *script) elementThreaded(ctx context.Context, e *elementUser, args []string) error {
	_, ev, c, err := sc.elementPick(ctx, e, args[0], args[1], theirs)
	if err != nil {
		return err
	}
	_, root, _, err := sc.elementPick(ctx, e, args[0], args[2], everybodys)
	if err == nil && (c.Relates.Type != "m.thread" || c.Relates.Event != root.ID) {
		err = fmt.Errorf("it is not in the thread of %s: %s", root.ID, ev.Content)
	}
	return err
}

func (sc *script) elementPreview(ctx context.Context, e *elementUser, args []string) error {
	r, re, err := sc.roomAndPattern(args)
	if err != nil {
		return err
	}
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	sent, err := sc.lastSent(ctx)
	if err != nil {
		return err
	}
	if _, err := e.Wait(ctx, func(ev element.Event) bool { return ev.ID == sent[r.id] }); err != nil {
		return fmt.Errorf("the bot's last event does not arrive: %w", err)
	}
	var text string
	if err := e.Do(ctx, "preview", map[string]any{"room": r.id}, &text); err != nil {
		return err
	}
	if !re.MatchString(text) {
		return fmt.Errorf("it shows %q", text)
	}
	fmt.Fprintln(sc.ts.Stdout(), text)
	return nil
}
