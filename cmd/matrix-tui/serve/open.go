package serve

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/memories"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/kube"
	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/state/transcripts"
)

// complete returns a configuration that a bot can start with. Settings in over take
// precedence over the environment.
func complete(ctx context.Context, a *cli.App, over map[string]string) (*settings.Config, error) {
	cfg, err := a.Config(over)
	if err != nil {
		return nil, err
	}
	if err := cli.FindHomeserver(ctx, cfg); err != nil {
		return nil, err
	}
	if missing := cfg.Missing(cli.LoadLogin(cfg).Fits(cfg)); len(missing) > 0 {
		return nil, &settings.Error{Problems: missing}
	}
	return cfg, nil
}

// openParts opens the bot's state and what runs its sandboxes. The caller holds the lock of the state
// folder. closeParts closes everything in reverse order.
func openParts(ctx context.Context, cfg *settings.Config, doors sandbox.Doors,
	log zerolog.Logger) (parts bot.Parts, closeParts func() error, err error) {
	var opened []func() error
	closeAll := func() (err error) {
		for _, one := range opened {
			defer cli.Closing(&err, one)
		}
		return nil
	}
	defer func() {
		if err != nil {
			cli.Closing(&err, closeAll)
		}
	}()
	dir := string(cfg.StateDir)
	if parts.Journal, parts.Store, err = state.Open(ctx, dir, log); err != nil {
		return parts, nil, err
	}
	opened = append(opened, parts.Journal.Close, parts.Store.Close)
	if parts.Transcripts, err = transcripts.Open(dir, log); err != nil {
		return parts, nil, err
	}
	var certificate []byte
	if cfg.Engine == settings.Kubernetes {
		if _, certificate, err = kube.Certificate(dir); err != nil {
			return parts, nil, err
		}
	}
	runner, err := engine.Connect(ctx, cfg, certificate, log)
	if err != nil {
		return parts, nil, err
	}
	if podman, ok := runner.(*sandbox.Podman); ok {
		podman.Place = sandbox.Place{Doors: doors, Inits: filepath.Join(dir, "boxinit"), Version: cli.Version()}
	}
	parts.Podman = sandbox.NewRooms(runner, log)
	opened = append(opened, func() error { parts.Podman.Close(); return nil })
	if err := os.RemoveAll(filepath.Join(dir, "memory")); err != nil { // the indexes of f0f5333, one for each room
		log.Warn().Err(err).Msg("cannot delete the indexes of an earlier release")
	}
	if cfg.MemorySlot != settings.NoMemory {
		if parts.Recall, err = memories.OpenMemory(cfg, parts.Store, parts.Journal, log); err != nil {
			return parts, nil, err
		}
		restored, err := parts.Journal.Snapshots.Restored(ctx)
		if err != nil {
			return parts, nil, err
		}
		if restored != nil { // the index is a cache of the journal that was lost
			if err := memory.Delete(ctx, dir); err != nil {
				log.Warn().Err(err).Msg("cannot delete the index of a lost journal")
			}
		}
	}
	return parts, closeAll, nil
}
