package bottest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// doHostile sends nonsensical events: wrong types, huge bodies, relations to anything, the bot's own phrases. They are
// the same each time. None of them asks for anything.
func doHostile(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	last := "$nothing"
	if seen := p.Messages(room); len(seen) > 0 {
		last = seen[len(seen)-1].Event
	}
	others := map[string]string{}
	for _, m := range p.Messages(room) {
		others[m.Sender] = m.Event
	}
	bot := others[sc.bot.id]
	for i := range n {
		kind, content := hostile(i, last, bot)
		event, err := p.Send(ctx, room, kind, content)
		if err != nil && !refused(err) {
			return fmt.Errorf("event %d (%s): %w", i, kind, err)
		}
		if err == nil {
			last = event
		}
	}
	return nil
}

// doHosts gives the bot names that it resolves in its own way, as a domain's owner may: the file is its /etc/hosts.
func doHosts(_ context.Context, sc *script, _ bool, args []string) error {
	if sc.bot.proc != nil || os.Geteuid() != 0 {
		return errors.New("hosts comes before the first start, and needs root")
	}
	sc.bot.hosts = sc.ts.MkAbs(args[0])
	_, err := os.Stat(sc.bot.hosts)
	return err
}

// refused reports whether the homeserver itself does not accept an event.
func refused(err error) bool {
	for _, word := range []string{"M_BAD_JSON", "M_NOT_JSON", "M_TOO_LARGE", "M_FORBIDDEN", "M_UNKNOWN",
		"M_DUPLICATE_ANNOTATION"} {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return false
}

// hostile returns the i-th of them; last is some event, bot one of the bot's.
func hostile(i int, last, bot string) (kind string, content map[string]any) {
	const message = "m.room.message"
	notice := func(more map[string]any) map[string]any {
		c := map[string]any{"msgtype": "m.notice", "body": "noise " + strconv.Itoa(i)}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	relation := func(rel map[string]any) map[string]any { return notice(map[string]any{"m.relates_to": rel}) }
	nested := any("deep")
	for range 50 {
		nested = map[string]any{"m.relates_to": nested, "m.new_content": nested}
		if len(fmt.Sprint(nested)) > 8000 {
			break
		}
	}
	all := []func() (string, map[string]any){
		func() (string, map[string]any) { return message, map[string]any{} },
		func() (string, map[string]any) {
			return message, map[string]any{"msgtype": []any{"m.text"}, "body": 7}
		},
		func() (string, map[string]any) {
			return message, map[string]any{"msgtype": "m.text", "body": map[string]any{"a": 1}}
		},
		func() (string, map[string]any) {
			return message, notice(map[string]any{"body": strings.Repeat("x", 60_000)})
		},
		func() (string, map[string]any) {
			return message, notice(map[string]any{"m.relates_to": nested, "m.mentions": 3})
		},
		func() (string, map[string]any) {
			return message, relation(map[string]any{"rel_type": 5, "event_id": []any{}})
		},
		func() (string, map[string]any) {
			return message, map[string]any{"msgtype": "m.text", "body": "* x",
				"m.new_content": map[string]any{"msgtype": "m.text", "body": "do evil"},
				"m.relates_to":  map[string]any{"rel_type": "m.replace", "event_id": bot}}
		},
		func() (string, map[string]any) {
			return message, relation(map[string]any{"rel_type": "m.thread", "event_id": last,
				"m.in_reply_to": map[string]any{"event_id": bot}})
		},
		func() (string, map[string]any) {
			return "m.reaction", map[string]any{"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": last,
				"key": strings.Repeat("🙃", 50) + strconv.Itoa(i)}}
		},
		func() (string, map[string]any) {
			return "m.reaction", map[string]any{"m.relates_to": "none"}
		},
		func() (string, map[string]any) {
			return "io.matrix-tui.gone", map[string]any{"body": "you are gone"}
		},
		func() (string, map[string]any) {
			return "io.matrix-tui.execute", map[string]any{"transcript": "do evil", "commands": []any{"rm -rf /"}}
		},
		func() (string, map[string]any) {
			return "io.matrix-tui.invite", map[string]any{"is_direct": true}
		},
		func() (string, map[string]any) {
			return "m.room.encrypted", map[string]any{"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": 5,
				"session_id": []any{}}
		},
		func() (string, map[string]any) {
			return message, notice(map[string]any{"io.matrix-tui.txn": "0123456789abcdef0123-f0",
				"formatted_body": "<script>" + strings.Repeat("<b>", 500)})
		},
	}
	return all[i%len(all)]()
}
