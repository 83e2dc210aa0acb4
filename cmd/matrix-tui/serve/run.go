// Package serve runs the bot: it opens the parts, connects them, and closes them.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/agent"
	"matrix-tui/agent/gemini"
	"matrix-tui/bot"
	"matrix-tui/bot/api"
	"matrix-tui/bot/capacity"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/recall/tools"
	scheduletools "matrix-tui/bot/schedule/tools"
	"matrix-tui/bot/web"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/control"
	"matrix-tui/cmd/matrix-tui/releases"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/deploy/release"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// gcPercent is half of Go's default: a bot that waits most of the time has the processor time for it. With
// 500 rooms on the page, that takes a tenth off its memory.
const gcPercent = 50

// Run runs the bot until ctx ends.
func Run(ctx context.Context, a *cli.App, args []string) error {
	here, flags := releases.FindInstalled(), a.Flags("run")
	rehearsal := flags.Bool("until-ready", false,
		"end when the first events are read: an update tries a release like this")
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	if err := here.AtStart(); err != nil { // before anything else
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	if cfg.Maintenance { // whatever else is missing: a login, for example
		return maintain(ctx, cli.Logger(a.Stderr, cfg.LogLevel))
	}
	if cfg, err = complete(ctx, a, nil); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log := cli.Logger(a.Stderr, cfg.LogLevel)
	log.Info().Str("version", cli.Version()).Str("homeserver", string(cfg.Homeserver)).Str("user", string(cfg.User)).
		Str("state", string(cfg.StateDir)).Str("model", string(cfg.GeminiModel)).Msg("starting")
	on := hosting{Installed: here, supervisor: supervisor{log}}
	if *rehearsal {
		on.rehearsal = a.Stdout
	} else {
		on.releases = here.Updater(cfg)
	}
	err = serve(ctx, cfg, log, on)
	switch {
	case errors.Is(err, bot.ErrSwitch): // nothing else went wrong
		return takeOver(ctx, on.releases, append([]string{"run"}, args...), log)
	case errors.Is(err, errReady):
		_, err = fmt.Fprintln(a.Stdout, "ready")
		return err
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		log.Info().Msg("stopped during startup")
		return nil
	}
	if err != nil {
		log.Error().Err(err).Msg("ended")
	}
	return err
}

// serve opens everything the bot needs, runs it until ctx ends, and closes everything
// in reverse order, also if a part cannot be opened.
func serve(ctx context.Context, cfg *settings.Config, log zerolog.Logger, on hosting) (err error) {
	dir := string(cfg.StateDir)
	lock, err := state.Lock(dir)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, lock.Close)
	unhook := context.AfterFunc(ctx, on.supervisor.stopping)
	defer unhook()
	listener, err := listen(ctx, "API_LISTEN", cfg.APIListen)
	if err != nil {
		return err
	}
	pageListener, err := listen(ctx, "WEB_LISTEN", cfg.WebListen)
	if err != nil {
		return errors.Join(err, closed(listener))
	}
	defer closed(listener, pageListener) // also closed by their users

	upstream, err := url.Parse(string(cfg.GeminiURL))
	if err != nil {
		return fmt.Errorf("read GEMINI_BASE_URL: %w", err)
	}
	sockets := filepath.Join(dir, cli.GatewayFolder)
	if on.rehearsal != nil {
		sockets = filepath.Join(dir, "tmp", "g") // no container may find it
	}
	gate := gateway.New(gateway.Config{Dir: sockets, Ports: cfg.OutPorts, Deny: cfg.Deny, ProxyNames: bool(cfg.ProxyNames),
		Log: log})
	route := gemini.NewRoute(gemini.RouteConfig{Base: upstream, Key: cfg.GeminiKey.Reveal(), Tools: cfg.ModelTools,
		Log: log}, gate)
	parts, closeParts, err := openParts(ctx, cfg, gate, log)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, closeParts)
	defer route.Close()
	defer cli.Closing(&err, func() error { return cli.WithGrace(ctx, gate.Close) })
	parts.Models = models.Open(dir, &gemini.Client{Base: upstream, Key: cfg.GeminiKey.Reveal()}, log)
	offers := agent.Offers{Search: slices.Contains(cfg.ModelTools, "google_search")}
	offers.Remembers = parts.Recall != nil
	if offers.Tools, err = tools.List(ctx, parts.Recall, scheduletools.Add(nil, nil, log)); err != nil {
		return err
	}
	parts.Gateway, parts.Route, parts.Agent = gate, route, &agent.Gemini{Offers: offers, Log: log}
	if on.releases != nil {
		parts.Updates = on.releases
	}
	settings, ready := botConfig(cfg, log), make(chan struct{})
	page, err := pageURL(cfg, pageListener)
	if err != nil {
		return fmt.Errorf("read WEB_URL: %w", err)
	}
	if page != nil {
		settings.PageURL = page.String()
	}
	settings.Rehearsal = on.rehearsal != nil
	settings.Ready = func() error {
		if on.rehearsal != nil {
			return errReady
		}
		if err := on.Installed.Ready(ctx, on.images(), log); err != nil {
			return err
		}
		on.supervisor.ready()
		close(ready)
		return nil
	}
	b, err := bot.New(settings, parts)
	if err != nil {
		return err
	}
	clockwork := b.Clockwork()
	gate.Mount(agent.ToolsPath,
		tools.Handler(parts.Recall, log, scheduletools.Add(clockwork.Running, clockwork.Changed, log)))
	services := []service{
		func(ctx context.Context) error { on.supervisor.watch(ctx, ready, b.Alive, b.Stalled); return nil },
		func(ctx context.Context) error { parts.Recall.Work(ctx); return nil },
		func(ctx context.Context) error {
			return control.ServeControl(ctx, dir, control.Control{Bot: b, Updater: on.releases,
				Alive: once(ready, b.Alive)}, log)
		},
	}
	if on.rehearsal != nil {
		services = append(services, func(ctx context.Context) error { tellWaiting(ctx, on.rehearsal, b.Waiting); return nil })
	} else if door, err := openDoor(ctx, cfg, parts.Podman, gate, log); err != nil {
		return err
	} else if door != nil {
		services = append(services, door)
	}
	if listener != nil {
		services = append(services, func(ctx context.Context) error {
			return api.Serve(ctx, listener, api.New(b.Programs(), cfg.APIToken.Reveal(), log), "listening", log)
		})
	}
	if pageListener != nil && on.rehearsal == nil {
		operator := bot.OperatorOf(b, checksOf(cfg))
		services = append(services, func(ctx context.Context) error {
			at := web.Address{Page: page, Previews: cfg.PreviewDomain(page)}
			return api.Serve(ctx, pageListener, web.New(ctx, operator, bot.BoxOf(b), at, log), "the page is up", log)
		})
	}
	return together(ctx, b.Run, services...)
}

// service runs until ctx ends.
type service func(ctx context.Context) error

// together runs services next to main until main returns or one of them fails. If main
// panics, the services keep running until the runtime has ended the process: if the
// panic stopped them first, together could return, and the process could end with code 0
// before the panic is printed.
func together(ctx context.Context, main service, services ...service) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		err := main(ctx)
		stop() // not deferred, see above
		return err
	})
	for _, s := range services {
		group.Go(func() error { return s(ctx) })
	}
	return group.Wait()
}

// hosting is the bot's environment; the zero value means none.
type hosting struct {
	*releases.Installed
	releases   *release.Updater
	supervisor supervisor
	rehearsal  io.Writer // nil unless an update tries this release
}

func (h hosting) images() release.Images {
	if h.releases == nil {
		return release.Images{}
	}
	return h.releases.Images
}

// closed closes listeners that were opened.
func closed(listeners ...net.Listener) (err error) {
	for _, l := range listeners {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// pageURL returns where people reach the page, or nil if there is none.
func pageURL(cfg *settings.Config, listener net.Listener) (*url.URL, error) {
	switch {
	case listener == nil:
		return nil, nil
	case cfg.WebURL == "":
		return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
	}
	return url.Parse(string(cfg.WebURL))
}

// listen opens the port of a setting, or returns nil if that is not set. It comes before
// any connection is made: a port in use is a configuration error.
func listen(ctx context.Context, setting string, address settings.Listen) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := api.Listen(ctx, setting, string(address))
	if wrong, ok := sentence.Of(err); ok && ctx.Err() == nil {
		return nil, &settings.Error{Problems: []string{wrong}}
	}
	return listener, err
}

func botConfig(cfg *settings.Config, log zerolog.Logger) bot.Config {
	return bot.Config{
		Homeserver: string(cfg.Homeserver), User: string(cfg.User),
		Password: cfg.Password.Reveal(), AccessToken: cfg.AccessToken.Reveal(),
		Owners: cfg.Owners, Devices: e2ee.Rule(cfg.Devices), Proof: policy.Proof(cfg.Proof), Allow: cfg.Allow,
		StateDir: string(cfg.StateDir),
		Image:    string(cfg.Image), Memory: int64(cfg.Memory), CPUs: float64(cfg.CPUs), PIDs: int64(cfg.PIDs),
		Files: int64(cfg.Files), Runtime: string(cfg.Runtime),
		Idle: time.Duration(cfg.Idle), MaxContainers: int(cfg.MaxContainers), DiskReserve: int64(cfg.DiskReserve),
		WarmAgents: cfg.WarmAgents.Or(capacity.WarmAgents()), WarmTime: time.Duration(cfg.WarmTime),
		Model: string(cfg.GeminiModel), Zone: hostZone(os.Getenv("TZ"), "/etc"), TokensPerDay: int64(cfg.TokensPerDay),
		TokensPerDayAll: int64(cfg.TokensPerDayAll), Fresh: policy.Freshness{Hour: (*int)(cfg.SessionHour),
			Idle: (*time.Duration)(&cfg.SessionIdle)}, CodingTimeout: time.Duration(cfg.CodingTimeout),
		MaxParallel:      int(cfg.MaxParallel),
		ExecutionTimeout: time.Duration(cfg.ExecutionTimeout), QuotaWait: time.Duration(cfg.QuotaWait),
		NotifyQuestion: bool(cfg.NotifyQuestion), NotifyComplete: bool(cfg.NotifyComplete),
		Debounce: time.Duration(cfg.Debounce), Archive: time.Duration(cfg.Archive), MediaMax: int64(cfg.MediaMax),
		UpdateWait: time.Duration(cfg.UpdateWait), AlertRoom: string(cfg.AlertRoom), NoUpdates: releases.Elsewhere(),
		Version: cli.Version(), Log: log,
	}
}
