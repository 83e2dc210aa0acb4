package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"matrix-tui/state/clean"
)

// endTime is how long the bot may take to shut down.
const endTime = time.Minute

// state is the bot's STATE_DIR.
func (d *demo) state() string { return filepath.Join(d.dir, "state") }

// logPath is the bot's log; the previous one is kept next to it.
func (d *demo) logPath() string { return filepath.Join(d.dir, "bot.log") }

func (d *demo) openLog() (*os.File, error) {
	_ = os.Rename(d.logPath(), d.logPath()+".1") // there may be none
	file, err := os.OpenFile(d.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the demo's log: %w", err)
	}
	return file, nil
}

// setting returns an environment variable, "" if it is not set.
func (d *demo) setting(name string) (value string) {
	for _, pair := range d.environ {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

var keyLine = regexp.MustCompile(`(?m)^\s*(export\s+)?GEMINI_API_KEY(_FILE)?\s*=\s*[^\s#]`)

// hasKey reports whether the bot finds a key for the Gemini API: in the environment, or in a .env file here or in its
// state folder.
func (d *demo) hasKey() bool {
	if d.setting("GEMINI_API_KEY") != "" || d.setting("GEMINI_API_KEY_FILE") != "" {
		return true
	}
	for _, dir := range []string{".", d.state()} {
		if data, err := os.ReadFile(filepath.Join(dir, ".env")); err == nil && keyLine.Match(data) {
			return true
		}
	}
	return false
}

// timeout is how long an answer may take.
func (d *demo) timeout() time.Duration {
	seconds, _ := strconv.Atoi(d.setting("CODING_TIMEOUT_SECONDS")) // the bot itself rejects invalid numbers
	return time.Duration(cmp.Or(seconds, 2400))*time.Second + time.Minute
}

// serve runs the bot until ctx ends, and then until it has shut down.
func (d *demo) serve(ctx context.Context, known *accounts, log *os.File) error {
	set := map[string]string{
		"STATE_DIR": d.state(), "MATRIX_HOMESERVER": d.homeserver, "MATRIX_USER": d.bot,
		"MATRIX_PASSWORD": known.Bot.Password,
		"MATRIX_OWNERS":   d.you.ID(),
	}
	for name, value := range map[string]string{
		"MATRIX_ALLOW":          d.you.ID(),
		"DEBOUNCE_MILLISECONDS": "0",   // each line has its answer here
		"E2EE_DEVICES":          "all", // any client works in encrypted rooms, without verification
		"REQUIRE_ENCRYPTION":    "off", // the homeserver is the demo's own
		"WEB_LISTEN":            strconv.Itoa(known.Page),
	} {
		if d.setting(name) == "" {
			set[name] = value
		}
	}
	if d.model != nil {
		set["GEMINI_API_KEY"], set["GEMINI_BASE_URL"] = d.modelKey, d.modelURL
	}
	cmd := exec.CommandContext(ctx, d.program, "run")
	for _, pair := range d.environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, ours := set[strings.TrimSuffix(name, "_FILE")]; !ours && !strings.HasPrefix(name, "MATRIX_ACCESS_TOKEN") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	for name, value := range set {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true,
		Pdeathsig: syscall.SIGTERM} // the terminal's signals go only to the demo
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	err := cmd.Run()
	if ctx.Err() != nil && cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil
	}
	return fmt.Errorf("the bot has ended (its log is %s): %w", d.logPath(), errors.Join(err, lastWords(d.logPath())))
}

// checkModel lets the bot's program check the key and the model, and prints what it finds. The error means that tasks
// would fail.
func (d *demo) checkModel(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, d.program, "doctor", "-model")
	cmd.Env = append(slices.Clone(d.environ), "STATE_DIR="+d.state())
	said, err := cmd.CombinedOutput()
	fmt.Fprintf(d.stdout, "  %s\n", strings.TrimSpace(clean.Text(string(said))))
	if err != nil {
		return errors.New("the model cannot be used, see above")
	}
	return nil
}

// lastWords is the bot's last message to the operator.
func lastWords(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	const most = 4 << 10
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	end, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return err
	}
	_, said, found := bytes.Cut(append([]byte("\n"), end...), []byte("\nmatrix-tui: "))
	if !found {
		return nil
	}
	return errors.New(strings.TrimSpace(clean.Text(string(said))))
}
