package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/recall/embed"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/memory"
)

// complete returns a configuration that a bot can start with. Settings in over take
// precedence over the environment.
func (a *app) complete(ctx context.Context, over map[string]string) (*Config, error) {
	cfg, err := a.config(over)
	if err != nil {
		return nil, err
	}
	if err := findHomeserver(ctx, cfg); err != nil {
		return nil, err
	}
	if missing := cfg.Missing(loadLogin(cfg).fits(cfg)); len(missing) > 0 {
		return nil, &SettingsError{missing}
	}
	return cfg, nil
}

// findHomeserver looks up the client API of the server in the bot's user ID, unless it
// is configured.
func findHomeserver(ctx context.Context, cfg *Config) error {
	_, server, full := strings.Cut(string(cfg.User), ":")
	if cfg.Homeserver != "" || !full {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	address, err := matrix.Discover(ctx, server)
	if err == nil {
		err = cfg.Homeserver.UnmarshalText([]byte(address))
	}
	if err != nil {
		return &SettingsError{[]string{fmt.Sprintf("MATRIX_HOMESERVER is missing, and %s does not say where its client API is (%v); expected %s", server, err, rightFor("MATRIX_HOMESERVER"))}}
	}
	return nil
}

// openParts opens the bot's state and podman, for a start or for the trial of one. The
// caller holds the lock of the state folder. closeParts closes everything in reverse
// order.
func openParts(ctx context.Context, cfg *Config, log zerolog.Logger) (parts bot.Parts, closeParts func() error, err error) {
	var opened []func() error
	closeAll := func() (err error) {
		for _, one := range opened {
			defer closing(&err, one)
		}
		return nil
	}
	defer func() {
		if err != nil {
			closing(&err, closeAll)
		}
	}()
	dir := string(cfg.StateDir)
	if parts.Journal, parts.Store, err = state.Open(ctx, dir, log); err != nil {
		return parts, nil, err
	}
	opened = append(opened, parts.Journal.Close, parts.Store.Close)
	if parts.Transcripts, err = state.OpenTranscripts(dir, log); err != nil {
		return parts, nil, err
	}
	if parts.Podman, err = sandbox.Connect(ctx, string(cfg.ContainerHost), log); err != nil {
		return parts, nil, fmt.Errorf("connect to podman: %w", err)
	}
	opened = append(opened, func() error { parts.Podman.Close(); return nil })
	if cfg.MemorySlot != noMemory {
		if parts.Recall, err = openMemory(ctx, cfg, parts.Store, parts.Journal, log); err != nil {
			return parts, nil, err
		}
		if parts.Journal.Corrupt() != "" { // the index is a cache of the journal that was lost
			if err := memory.Delete(ctx, dir); err != nil {
				log.Warn().Err(err).Msg("cannot delete the index of a lost journal")
			}
		}
		parts.Recall.TakeOld(ctx)
	}
	return parts, closeAll, nil
}

// openMemory returns what keeps what the rooms have learned. No secret of the bot gets into it.
func openMemory(ctx context.Context, cfg *Config, store *state.Store, journal *state.Journal, log zerolog.Logger) (*recall.Memory, error) {
	var secrets []string
	for _, secret := range []Secret{cfg.Password, cfg.AccessToken, cfg.GeminiKey, cfg.APIToken, loadLogin(cfg).Token} {
		secrets = append(secrets, secret.Reveal())
	}
	for _, name := range []string{"recovery-key", "crypto.key"} { // missing before the first login
		key, _ := os.ReadFile(filepath.Join(string(cfg.StateDir), name))
		written := strings.TrimSpace(string(key))
		secrets = append(secrets, written, strings.Join(strings.Fields(written), ""))
	}
	m := recall.New(string(cfg.StateDir), store, journal, log, secrets...)
	if cfg.Embeddings != geminiEmbeddings || !cfg.GeminiKey.Set() { // `memory search` needs no key
		return m, nil
	}
	client, err := embed.New(ctx, string(cfg.GeminiURL), cfg.GeminiKey.Reveal(), string(cfg.EmbeddingModel))
	if err != nil {
		return nil, err
	}
	m.Embeddings(string(cfg.EmbeddingModel), client.Fetch)
	return m, nil
}

// closing adds the error of a close to the error of the function that defers it.
func closing(err *error, close func() error) {
	if wrong := close(); wrong != nil {
		*err = errors.Join(*err, wrong)
	}
}

// withGrace gives a close five seconds although its context has ended.
func withGrace(ctx context.Context, close func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return close(ctx)
}
