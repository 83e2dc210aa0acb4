package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/person"
)

// accounts is accounts.json (mode 0600), the demo's memory between two starts: two accounts on a homeserver with open
// registration, and the room they share.
type accounts struct {
	Bot  demoAccount `json:"bot"`
	You  demoAccount `json:"you"`
	Room string      `json:"room,omitempty"`
	// Seen is the newest event that the terminal has shown.
	Seen string `json:"seen,omitempty"`
	// Page is the port of the bot's page.
	Page int `json:"page_port,omitempty"`

	path string
}

type demoAccount struct {
	Name     string `json:"name"` // localpart
	Password string `json:"password"`
	// Recovery is the recovery key of the account's cross-signing identity.
	Recovery string `json:"recovery_key,omitempty"`
}

// loadAccounts reads the file, or starts a new one.
func loadAccounts(dir string) (*accounts, error) {
	a := &accounts{path: filepath.Join(dir, "accounts.json")}
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("read accounts in %s (move the file away to start over): %w", a.path, err)
	}
	return a, nil
}

func (a *accounts) save() error {
	data, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("save accounts: %w", err)
	}
	if err := renameio.WriteFile(a.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("save accounts: %w", err)
	}
	return nil
}

// enrol registers a new account, under name or, if that is taken, under a similar one. The password is on disk before
// the account is on the server.
func (a *accounts) enrol(account *demoAccount, name string, register func(demoAccount) error) error {
	if account.Password != "" {
		return register(*account)
	}
	var err error
	for _, name := range []string{name, name + "-" + randomWord(6)} {
		*account = demoAccount{Name: name, Password: randomWord(20)}
		if err := a.save(); err != nil {
			return err
		}
		if err = register(*account); err == nil {
			return nil
		}
	}
	return err
}

// enter registers missing accounts, logs the person in and returns the bot's user ID.
func (a *accounts) enter(ctx context.Context, homeserver string,
	log zerolog.Logger) (you *person.Person, bot string, err error) {
	config := func(account demoAccount) person.Config {
		return person.Config{Homeserver: homeserver, Name: account.Name, Password: account.Password,
			Device: "matrix-tui demo", Log: log.Level(zerolog.ErrorLevel)}
	}
	err = a.enrol(&a.Bot, "bot", func(account demoAccount) (err error) {
		bot, err = person.Register(ctx, config(account))
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("create the bot's account: %w", err)
	}
	err = a.enrol(&a.You, "alex", func(account demoAccount) (err error) {
		signed := config(account)
		signed.Keys, signed.Recovery = person.SignedKeys, account.Recovery
		you, err = person.Enter(ctx, signed)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("create your account: %w", err)
	}
	a.You.Recovery = you.Recovery()
	return you, bot, a.save()
}

// room returns the previous room, if both are still in it or the bot can be invited again, and otherwise creates one.
func (a *accounts) room(ctx context.Context, you *person.Person, bot string) (string, error) {
	if a.Room != "" {
		members, err := you.Members(ctx, a.Room)
		switch {
		case err == nil && slices.Contains(members, bot):
			return a.Room, nil
		case err == nil && slices.Contains(members, you.ID()) && you.Invite(ctx, a.Room, bot) == nil:
			return a.Room, nil
		}
	}
	room, err := you.CreateRoom(ctx, person.RoomSpec{Name: "matrix-tui demo", Invite: []string{bot}})
	if err != nil {
		return "", err
	}
	a.Room = room
	return room, a.save()
}

// randomWord returns n letters and digits, five bits each.
func randomWord(n int) string { return strings.ToLower(rand.Text()[:n]) }
