package doctor

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/clean"
)

// Limits of Report, which somebody waits for.
const (
	hereTime   = 8 * time.Second // of the checks of this host, together
	remoteTime = 3 * time.Second // of each check that asks the homeserver
)

// Finding is the result of one check; the zero values of Bad and Skipped mean "ok".
type Finding struct {
	Bad, Skipped bool
	Text         string // one line without secrets, including the fix if it is bad
}

func good(format string, args ...any) Finding {
	return Finding{Text: line(fmt.Sprintf(format, args...))}
}
func bad(format string, args ...any) Finding {
	return Finding{Bad: true, Text: line(fmt.Sprintf(format, args...))}
}
func skipped(format string, args ...any) Finding {
	return Finding{Skipped: true, Text: line(fmt.Sprintf(format, args...))}
}

func line(text string) string { return clean.Short(text, 600) }

// Word is "ok", "FAIL" or "skip".
func (f Finding) Word() string {
	switch {
	case f.Bad:
		return "FAIL"
	case f.Skipped:
		return "skip"
	}
	return "ok"
}

// String is the line in the report.
func (f Finding) String() string { return fmt.Sprintf("%-4s %s", f.Word(), f.Text) }

// Report runs the checks that a running bot can make of itself while somebody waits. It starts no container, does not
// log in, and asks no model. It ends in time, unless a disk does not answer.
func Report(ctx context.Context, cfg *settings.Config) (all []Finding) {
	say := func(f Finding) { all = append(all, f) }
	stored := cli.LoadLogin(cfg)
	here, cancel := context.WithTimeout(ctx, hereTime)
	defer cancel()
	checkHere(here, cfg, stored, true, say)
	checkUnit(here, say)
	for _, r := range remotes(cfg, stored) {
		if !r.logsIn {
			say(r.find(ctx, cfg, remoteTime))
		}
	}
	return all
}

// remote is a check of what is not on this host, or of what the homeserver has told the bot.
type remote struct {
	name   string
	ready  bool
	wants  string // to be ready
	logsIn bool   // it may log in
	run    func(context.Context, *settings.Config) Finding
}

func remotes(cfg *settings.Config, stored cli.StoredLogin) []remote {
	const configured = "it is configured"
	named := cfg.Homeserver != ""
	return []remote{
		{"homeserver", named, configured, false, checkHomeserver},
		{"clock", named, configured, false, checkClock},
		{"login", named && (cfg.User != "" || cfg.AccessToken.Set()), configured, true,
			func(ctx context.Context, cfg *settings.Config) Finding { return checkLogin(ctx, cfg, stored) }},
		{"device", named && (cfg.AccessToken.Set() || stored.Fits(cfg)), "the bot has logged in once", false,
			func(ctx context.Context, cfg *settings.Config) Finding { return checkDevice(ctx, cfg, stored) }},
		{"identities", true, "", false, checkIdentities},
	}
}

// find runs the check, if it can be run.
func (r remote) find(ctx context.Context, cfg *settings.Config, limit time.Duration) Finding {
	if !r.ready {
		return skipped("%s cannot be checked until %s", r.name, r.wants)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.run(ctx, cfg)
}
