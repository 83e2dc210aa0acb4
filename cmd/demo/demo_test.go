package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest/host"
	"matrix-tui/sandbox"
)

// demo runs the demo with r as its input and out as its output.
func (h *bench) demo(t *testing.T, ctx context.Context, r *os.File, out *output) int {
	t.Helper()
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "CONTAINER_HOST=" + h.podman, "SANDBOX_IMAGE=" + h.image}
	return run(ctx, []string{"-program", h.program, "-homeserver", h.homeserver, "-dir", filepath.Join(h.dir, "demo")}, environ, r, out, out)
}

func TestDemo(t *testing.T) {
	h := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	t.Cleanup(func() { h.removeContainer(t) })

	t.Run("two tasks", func(t *testing.T) {
		var out output
		if code := h.demo(t, ctx, lines(t, "please write a note about cats\n\n/help\nhello there\n"), &out); code != 0 {
			t.Fatalf("code %d:\n%s", code, out.String())
		}
		for _, want := range []string{
			`homeserver    ` + regexp.QuoteMeta(h.homeserver), `user          alex  \(@alex:localhost\)`, `password      [a-z2-7]{20}`,
			`recovery key  (\w{4} ){11}\w{4}`, `the bot       @bot:localhost`, `SCRIPTED MODEL`, `Whatever you type .*\n.*!stop`,
			`page for browsers is http://127\.0\.0\.1:\d+\n  Open it, send the bot the command`,
			`you: please write a note about cats`, `bot \(scripted model\): .*not Gemini.*The file is written`,
			`you: hello there`, `bot \(scripted model\): I am a scripted model, not Gemini, so this is all`, `\b1 step · \d+ s · [\d,]+ tokens\n`,
		} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("the chat lacks %q:\n%s", want, out.String())
			}
		}
		container := exec.CommandContext(ctx, "podman", "exec", sandbox.NameFor(h.accounts(t).Room), "cat", "/workspace/note.md")
		if note, err := container.Output(); err != nil || !strings.Contains(string(note), "note about cats") {
			t.Errorf("/workspace/note.md = %q, %v", note, err)
		}
	})
	before := h.accounts(t)
	room := before.Room

	t.Run("continues in the same room", func(t *testing.T) {
		var out output
		if code := h.demo(t, ctx, lines(t, "who are you?\n/quit\nnot said\n"), &out); code != 0 {
			t.Fatalf("code %d:\n%s", code, out.String())
		}
		if got := h.accounts(t).Room; got != room {
			t.Errorf("room %s, before it was %s", got, room)
		}
		if at := fmt.Sprintf("http://127.0.0.1:%d\n", before.Page); before.Page == 0 || !strings.Contains(out.String(), at) {
			t.Errorf("the page is not at %q as before:\n%s", at, out.String())
		}
		if text := out.String(); strings.Contains(text, "about cats") || strings.Contains(text, "not said") || !strings.Contains(text, "you: who are you?") {
			t.Errorf("the chat shows old messages, or messages after /quit:\n%s", text)
		}
	})

	t.Run("ends on a signal", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		var out output
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		code := make(chan int, 1)
		go func() { code <- h.demo(t, ctx, r, &out) }()
		answered := regexp.MustCompile(`(?s)you: please write a note about dogs.*The file is written`) // the answer to the question before may come now
		if _, err := w.WriteString("please write a note about dogs\n"); err != nil {
			t.Fatal(err)
		}
		if err := host.Poll(ctx, func() (bool, error) { return answered.MatchString(out.String()), nil }); err != nil {
			t.Errorf("the answer did not come: %v", err)
		}
		stop()
		if got := <-code; got != 0 {
			t.Errorf("code %d:\n%s", got, out.String())
		}
	})

	t.Run("operator", func(t *testing.T) { h.operator(t, ctx) })
}

// accounts returns the demo's stored accounts.
func (h *bench) accounts(t *testing.T) *accounts {
	t.Helper()
	path := filepath.Join(h.dir, "demo", "accounts.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	known, err := loadAccounts(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// hidden is a secret that must not be printed.
const hidden = "hunter2-hunter2"

// operator runs doctor and rooms on the demo's bot.
func (h *bench) operator(t *testing.T, ctx context.Context) {
	model := agenttest.New(agenttest.Demo(), zerolog.Nop())
	model.RequireKey(hidden)
	api := httptest.NewServer(model)
	defer api.Close()
	known := h.accounts(t)
	environ := func(state string, more ...string) []string {
		return append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "CONTAINER_HOST=" + h.podman, "SANDBOX_IMAGE=" + h.image, "STATE_DIR=" + state, "MATRIX_HOMESERVER=" + h.homeserver,
			"MATRIX_USER=bot", "MATRIX_OWNERS=@alex:localhost", "GEMINI_API_KEY=" + hidden, "GEMINI_BASE_URL=" + api.URL,
		}, more...)
	}
	state := filepath.Join(h.dir, "demo", "state")

	code, stdout, stderr := h.ask(t, ctx, environ(state), "rooms")
	want := regexp.MustCompile(regexp.QuoteMeta(known.Room) + ` +matrix-tui demo +` + regexp.QuoteMeta(sandbox.NameFor(known.Room)) + ` +running +- +[-0-9]+ [:0-9]+  \w+ +please write a note about dogs`)
	if code != 0 || !want.MatchString(stdout) {
		t.Errorf("rooms: code %d, %s%s", code, stdout, stderr)
	}

	before := h.devices(t, ctx, state)
	report := func(code int, line string, environ []string) {
		t.Helper()
		got, stdout, stderr := h.ask(t, ctx, environ, "doctor")
		if got != code || !strings.Contains("\n"+stdout, "\n"+line) || strings.Contains(stdout, hidden) || strings.Contains(stdout, known.Bot.Password) {
			t.Errorf("doctor: code %d, want %d and %q:\n%s%s", got, code, line, stdout, stderr)
		}
	}
	fresh := t.TempDir()
	report(0, "ok   login as @bot:localhost with the stored login", environ(state))
	report(0, "ok   device ", environ(state))
	report(0, "ok   login as @bot:localhost with MATRIX_PASSWORD", environ(fresh, "MATRIX_PASSWORD="+known.Bot.Password))
	report(0, "ok   model gemini-3.7-flash at "+api.URL, environ(state))
	d := &demo{program: h.program, dir: h.dir, environ: environ(state), stdout: io.Discard}
	if err := d.checkModel(ctx); err != nil {
		t.Error(err)
	}
	var said strings.Builder
	d.environ, d.stdout = environ(state, "GEMINI_API_KEY="+hidden+"-wrong"), &said
	if err := d.checkModel(ctx); err == nil || !strings.Contains(said.String(), "rejects the key") {
		t.Errorf("with a wrong key: %v, %s", err, said.String())
	}
	report(1, "FAIL login as bot was rejected (403 ", environ(fresh, "MATRIX_PASSWORD="+hidden))
	report(1, "FAIL login: the homeserver rejects MATRIX_ACCESS_TOKEN", environ(fresh, "MATRIX_ACCESS_TOKEN="+hidden))
	report(1, "FAIL image localhost/no-such-image is missing: run ./deploy/image/build", environ(state, "SANDBOX_IMAGE=localhost/no-such-image"))
	if after := h.devices(t, ctx, state); after != before {
		t.Errorf("doctor leaves devices behind: %d before, %d after", before, after)
	}
}
