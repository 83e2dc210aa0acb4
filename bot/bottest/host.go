package bottest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest/person"
)

// Host is a homeserver for bots and people without a script: for programs that
// measure.
type Host struct{ suite *suite }

// OpenHost starts a homeserver. The bots run program. If a part (podman, the image, the homeserver) is missing, the
// error says which.
func OpenHost(ctx context.Context, program string) (*Host, error) {
	s, err := newSuite(ctx)
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.close())
		}
		return nil, err
	}
	s.program = func() (string, error) { return program, nil }
	return &Host{s}, nil
}

// Analyze tells the homeserver's databases what is in them: see [host.Homeserver.Analyze].
func (h *Host) Analyze(ctx context.Context) error { return h.suite.home.Analyze(ctx) }

// Close closes the bots, stops the homeserver and removes its data.
func (h *Host) Close() error { return h.suite.close() }

// Homeserver is the homeserver's address, "IP:port".
func (h *Host) Homeserver() string { return strings.TrimPrefix(h.suite.home.URL(), "http://") }

// Image is the image of the rooms' containers.
func (h *Host) Image() string { return h.suite.image }

// Person is a session of an account, which is created if it does not exist.
func (h *Host) Person(ctx context.Context, name, password string) (*person.Person, error) {
	return person.Enter(ctx, person.Config{Homeserver: h.suite.home.URL(), Name: name, Password: password,
		Log: zerolog.Nop()})
}

// KeyedPerson is Person with a signed device, which can use encrypted rooms.
func (h *Host) KeyedPerson(ctx context.Context, name, password string) (*person.Person, error) {
	return person.Enter(ctx, person.Config{Homeserver: h.suite.home.URL(), Name: name, Password: password,
		Keys: person.SignedKeys, Log: zerolog.Nop()})
}

// StopHomeserver kills the homeserver; StartHomeserver starts it again, with its data.
func (h *Host) StopHomeserver(ctx context.Context) error { return h.suite.home.Stop(ctx) }

// StartHomeserver returns when the homeserver answers.
func (h *Host) StartHomeserver(ctx context.Context) error { return h.suite.home.Start(ctx) }

// Bot is an account on the host with its own state folder, podman service and model server; the process runs between
// Launch and Stop.
type Bot struct{ script *script }

// NewBot creates the account and everything around it. Settings are the bot's environment, on top of what scripts give
// it. Close ends all of it.
func (h *Host) NewBot(ctx context.Context, name string, settings map[string]string) (*Bot, error) {
	sc, err := h.suite.newScript(name)
	if err != nil {
		return nil, err
	}
	b := &Bot{sc}
	sc.bot.id, err = person.Register(ctx, person.Config{
		Homeserver: sc.home.URL(), Name: sc.bot.localpart, Password: sc.bot.password, Log: zerolog.Nop(),
	})
	if err == nil {
		err = sc.service.Start(ctx)
	}
	if err != nil {
		err = errors.Join(err, b.Close())
		return nil, fmt.Errorf("create bot %s: %w", name, err)
	}
	b.Set(settings)
	return b, nil
}

// Set changes settings for later launches.
func (b *Bot) Set(settings map[string]string) { maps.Copy(b.script.bot.set, settings) }

// ID is the bot's user ID.
func (b *Bot) ID() string { return b.script.bot.id }

// Login is the configuration of a Person for another session of the bot's account.
func (b *Bot) Login() (name, password string) { return b.script.bot.localpart, b.script.bot.password }

// Dir is the bot's own folder, removed by Close; StateDir is in it.
func (b *Bot) Dir() string { return b.script.dir }

// StateDir is its STATE_DIR.
func (b *Bot) StateDir() string { return b.script.state() }

// Socket is the path of its podman service.
func (b *Bot) Socket() string { return b.script.service.Socket }

// Model is its model server.
func (b *Bot) Model() *agenttest.Server { return b.script.model }

// ModelAPI is the address of its model server, and the key that it accepts.
func (b *Bot) ModelAPI() (address, key string) { return b.script.api.URL, b.script.key }

// Own records that a room's container belongs to the bot, and returns its name: Close removes it with its volumes, and
// so does the next run if this one is killed.
func (b *Bot) Own(room string) string { return b.script.container(room) }

// Releases makes the bot run from a folder of releases, base of them, and update itself to branches of its source. The
// named ones are built now, the others on demand.
func (b *Bot) Releases(ctx context.Context, branches ...string) error {
	return b.script.useReleases(ctx, branches)
}

// Launch starts the process and does not wait.
func (b *Bot) Launch(ctx context.Context) error { return b.script.launchBot(ctx) }

// Ready waits until a launched process is ready.
func (b *Bot) Ready(ctx context.Context) error { return b.script.ready(ctx) }

// StopPodman kills the podman service; containers live on.
func (b *Bot) StopPodman(ctx context.Context) error { return b.script.service.Stop(ctx) }

// StartPodman starts it again.
func (b *Bot) StartPodman(ctx context.Context) error { return b.script.service.Start(ctx) }

// Log returns the process's output since its launch.
func (b *Bot) Log() string { return b.script.bot.now() }

// Alive reports whether the process is running.
func (b *Bot) Alive() bool { return b.script.bot.proc.Alive() }

// PID returns its process ID.
func (b *Bot) PID() int { return b.script.bot.proc.PID() }

// Stop sends SIGTERM; the process must exit with code 0.
func (b *Bot) Stop(ctx context.Context) error { return b.script.stopBot(ctx) }

// Kill sends SIGKILL.
func (b *Bot) Kill(ctx context.Context) error { return b.script.bot.proc.Signal(ctx, syscall.SIGKILL) }

// Quiet waits until nothing in the bot's journal is unfinished or unsent.
func (b *Bot) Quiet(ctx context.Context) error { return b.script.quiet(ctx) }

// Close kills the process and removes everything that belongs to the bot.
func (b *Bot) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return b.script.clear(ctx)
}
