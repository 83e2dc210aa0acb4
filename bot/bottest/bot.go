package bottest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"syscall"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

// bot is the program under test.
type bot struct {
	proc      *host.Process
	log       string
	from      int64 // where the log of the current start begins
	localpart string
	password  string
	id        string // user ID, once the account exists
	killAt    string // crash point of the next start
	armed     bool   // the running process has a crash point
	set       map[string]string
	program   string            // its own, if it runs from a folder of releases
	hosts     string            // its own /etc/hosts, "" = the host's
	cluster   map[string]string // settings, if its rooms are in a cluster
}

var readyLine = regexp.MustCompile(`\bready\b`)

// account registers the bot's account on the script's homeserver.
func (sc *script) account(ctx context.Context) error {
	if sc.bot.id != "" {
		return nil
	}
	userID, err := person.Register(ctx, person.Config{
		Homeserver: sc.home.URL(), Name: sc.bot.localpart, Password: sc.bot.password, Log: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	sc.bot.id = userID
	sc.ts.Setenv("bot", userID)
	return nil
}

// environment is the bot's whole environment: nothing of the tests' own leaks in.
func (sc *script) environment() []string {
	_, server, _ := bytes.Cut([]byte(sc.bot.id), []byte(":"))
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": sc.dir, "TMPDIR": sc.dir,
		"MATRIX_HOMESERVER": sc.matrix(),
		"MATRIX_USER":       sc.bot.id,
		"MATRIX_PASSWORD":   sc.bot.password,
		"MATRIX_OWNERS":     "@owner-" + sc.name + ":" + string(server),
		"MATRIX_ALLOW":      "@*:" + string(server),
		"GEMINI_API_KEY":    sc.key,
		"GEMINI_BASE_URL":   sc.api.URL,
		"GEMINI_MODEL":      "gemini-3.1-pro-preview",
		"STATE_DIR":         sc.state(),
		"CONTAINER_HOST":    sc.service.URI(),
		"SANDBOX_IMAGE":     sc.suite.image,
		"SANDBOX_RUNTIME":   sc.suite.runtime,
		"API_TOKEN":         sc.apiToken(),
		"LOG_LEVEL":         "debug",
		// Scripts write faster than people: each message is a task of its own unless a script says otherwise.
		"DEBOUNCE_MILLISECONDS": "0",
		// By default the race detector delays every exit by a second.
		"GORACE": "halt_on_error=0 atexit_sleep_ms=100",
	}
	if allCold() {
		env["WARM_AGENTS"] = "0"
	}
	maps.Copy(env, sc.bot.cluster)
	maps.Copy(env, sc.bot.set)
	if sc.bot.killAt != "" {
		env["MATRIX_TUI_KILL_AT"] = sc.bot.killAt
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		if env[key] != "" {
			list = append(list, key+"="+env[key])
		}
	}
	return list
}

// launchBot starts `matrix-tui run` and does not wait.
func (sc *script) launchBot(ctx context.Context) error {
	if sc.bot.proc.Alive() {
		return fmt.Errorf("the bot is already running")
	}
	if err := sc.account(ctx); err != nil {
		return err
	}
	if err := sc.onKube(); err != nil {
		return err
	}
	program, err := sc.program()
	if err != nil {
		return err
	}
	if info, err := os.Stat(sc.bot.log); err == nil {
		sc.bot.from = info.Size()
	}
	again := func() bool { return false }
	if sc.drill != nil {
		again = sc.drill.again
	}
	argv := []string{program, "run"}
	if sc.bot.hosts != "" {
		argv = append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, sc.bot.hosts},
			argv...)
	}
	proc, err := host.Supervise(again, sc.dir, sc.bot.log, sc.environment(), argv...)
	if err != nil {
		return err
	}
	sc.bot.proc, sc.bot.armed, sc.bot.killAt = proc, sc.bot.killAt != "", ""
	return nil
}

// program returns the program to start as the bot.
func (sc *script) program() (string, error) {
	if sc.bot.program != "" {
		return sc.bot.program, nil
	}
	return sc.suite.program()
}

// ready waits until the bot's log says that it is ready. A bot with a crash point may die instead.
func (sc *script) ready(ctx context.Context) error {
	if sc.bot.proc == nil {
		return fmt.Errorf("the bot was not started")
	}
	err := host.Poll(ctx, func() (bool, error) {
		if readyLine.MatchString(sc.bot.now()) {
			return true, nil
		}
		if !sc.bot.proc.Alive() {
			if _, by := sc.bot.proc.Ended(); sc.bot.armed && by == syscall.SIGKILL {
				return true, nil
			}
			return false, fmt.Errorf("the bot ended: %w", sc.bot.proc.Err)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the bot is ready: %w", err)
	}
	return nil
}

// now returns the log since the current start.
func (b *bot) now() string {
	log, err := os.ReadFile(b.log)
	if err != nil || int64(len(log)) < b.from {
		return ""
	}
	return string(log[b.from:])
}

// stopBot sends SIGTERM; the bot must exit with code 0.
func (sc *script) stopBot(ctx context.Context) error {
	if !sc.bot.proc.Alive() {
		return fmt.Errorf("the bot is not running")
	}
	if err := sc.bot.proc.Signal(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	if code, by := sc.bot.proc.Ended(); code != 0 {
		return fmt.Errorf("the bot ended with code %d, signal %d after SIGTERM", code, by)
	}
	return nil
}

// killBot sends SIGKILL.
func (sc *script) killBot(ctx context.Context) error {
	if !sc.bot.proc.Alive() {
		return fmt.Errorf("the bot is not running")
	}
	return sc.bot.proc.Signal(ctx, syscall.SIGKILL)
}

// died waits until the bot has killed itself at its crash point.
func (sc *script) died(ctx context.Context) error {
	if sc.bot.proc == nil || !sc.bot.armed {
		return fmt.Errorf("no bot with a crash point runs: killat comes first")
	}
	select {
	case <-sc.bot.proc.Done:
	case <-ctx.Done():
		return fmt.Errorf("the bot did not reach its crash point: %w", ctx.Err())
	}
	if code, by := sc.bot.proc.Ended(); by != syscall.SIGKILL {
		return fmt.Errorf("the bot ended with code %d before its crash point", code)
	}
	return nil
}

// rss returns the resident memory of the bot in MiB.
func (b *bot) rss() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.proc.PID()))
	if err != nil {
		return 0, fmt.Errorf("read memory of the bot: %w", err)
	}
	var kb int64
	for line := range bytes.Lines(status) {
		if _, err := fmt.Sscanf(string(line), "VmRSS: %d kB", &kb); err == nil {
			return kb >> 10, nil
		}
	}
	return 0, fmt.Errorf("no VmRSS in the status of the bot")
}
