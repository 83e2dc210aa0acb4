package bot

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// reconcile compares the containers in the state with those that podman lists. It drops the entry of a container that
// is gone; the history stays, and the next task creates a new container on the old volumes.
func (b *Bot) reconcile(ctx context.Context) error {
	if err := b.openModels(ctx); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	infos, err := b.Podman.List(call)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The room's next task reports the error. Nothing is dropped without a list.
		b.log.Error().Err(err).Msg(sentence.Log(b.log, err))
		return nil
	}
	there := make(map[string]sandbox.Info, len(infos))
	for _, info := range infos {
		there[info.Name] = info
	}
	running, stopped := 0, 0
	var drops errgroup.Group
	for room, name := range b.Store.Containers.All() {
		info, ok := there[name]
		if !ok || info.Room != room {
			b.log.Warn().Str("room", room).Str("container", name).
				Msg("container is gone: the next task recreates it with the same history")
			drops.Go(func() error { return b.Store.Containers.Drop(ctx, room) })
			continue
		}
		if _, err := b.Gateway.Open(room); err != nil {
			b.log.Error().Err(err).Str("room", room).Msg("cannot open the room's gateway")
		}
		if info.State == "running" {
			running++
		} else {
			stopped++
		}
	}
	if err := drops.Wait(); err != nil {
		b.log.Warn().Err(err).Msg("cannot save state.json") // part of the next write
	}
	b.log.Info().Int("running", running).Int("stopped", stopped).Msg("containers found")
	return nil
}

// openModels lets the runs that outlived the bot use the model.
func (b *Bot) openModels(ctx context.Context) error {
	rooms, err := b.Journal.Events.UnfinishedRooms(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished rooms: %w", err)
	}
	for _, name := range rooms {
		tasks, err := b.Journal.Tasks.In(ctx, name, state.TaskRunning)
		if err != nil {
			return fmt.Errorf("list running tasks: %w", err)
		}
		for _, rec := range tasks {
			_ = b.work.Guard(name, "opening the model to a run", func() error {
				if rec.Container != "" {
					b.room(name).env.OpenModel(rec)
				}
				return nil
			})
		}
	}
	return nil
}

const purgeEvery = 24 * time.Hour

// purge removes old rows from the journal now and once a day, until ctx ends.
func (b *Bot) purge(ctx context.Context) {
	for ctx.Err() == nil {
		if ahead := b.account.Ahead(); ahead != 0 {
			b.log.Warn().Dur("ahead_ms", ahead).
				Msg("this host's clock and the homeserver's differ: the earlier one counts until they agree")
		}
		b.purgeOnce(ctx)
		_ = retry.Sleep(ctx, purgeEvery)
	}
}

func (b *Bot) purgeOnce(ctx context.Context) {
	n, err := b.Journal.Purge(ctx, b.clock.Now().Add(-b.Archive))
	if err != nil && ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("cannot purge the journal")
	}
	if n > 0 {
		b.log.Info().Int64("rows", n).Msg("journal purged")
	}
}

const trimEvery = 5 * time.Minute

// trimMemory gives unused memory back to the host regularly, until ctx ends: Go's runtime does that only slowly, and
// not while the bot just waits.
func trimMemory(ctx context.Context) {
	for ctx.Err() == nil {
		debug.FreeOSMemory()
		_ = retry.Sleep(ctx, trimEvery)
	}
}
