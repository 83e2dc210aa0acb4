package bottest

import (
	"context"
	"fmt"
	"os"
	"strings"

	"matrix-tui/bot/bottest/person"
)

// doParcel sends a file; a kind is one of [person.Parcel]'s, or - to go by the file's name.
func doParcel(ctx context.Context, sc *script, _ bool, args []string) error {
	parcel := person.Parcel{Name: args[2], Data: []byte(sc.ts.ReadFile(args[2])), Kind: args[3]}
	if parcel.Kind == "-" {
		parcel.Kind = ""
	}
	if len(args) > 4 {
		parcel.Caption = args[4]
	}
	return sc.tell(ctx, args[0], args[1], func(p *person.Person, room string) (string, error) {
		return p.SendParcel(ctx, room, parcel)
	})
}

// doContent shows the content of a message.
func doContent(_ context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := newestHeard(p, room, args[2])
	if err != nil {
		return err
	}
	fmt.Fprintln(sc.ts.Stdout(), string(person.Plain(m.Content)))
	return nil
}

// doDownload waits for a file from somebody else, each once, and downloads it; its kind and name go to stdout.
func doDownload(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	m, err := sc.take(ctx, p, room, args[2], func(m person.Msg) bool {
		return heard(p, m) && m.URL != "" && strings.HasPrefix(m.Kind, "m.")
	})
	if err != nil {
		return err
	}
	data, err := p.Download(ctx, m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(sc.ts.MkAbs(args[3]), data, 0o600); err != nil {
		return fmt.Errorf("save %s: %w", m.Body, err)
	}
	fmt.Fprintln(sc.ts.Stdout(), m.Kind, m.Body)
	return nil
}
