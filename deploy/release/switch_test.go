package release

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/update"
)

// prepared creates a base in which release one runs, and release two is prepared, and is this shell script.
func prepared(t *testing.T, script string) (*Updater, Record) {
	t.Helper()
	base, state := Base(t.TempDir()), t.TempDir()
	plant(t, base, one, 0)
	plant(t, base, two, 0)
	check(t, os.WriteFile(base.Program(two), []byte("#!/bin/sh\ncd "+state+"\n"+script+"\n"), 0o755))
	check(t, writeSums(base.Dir(two)))
	check(t, base.Use(one))
	write(t, state, map[string]string{"state.json": "old", "transcripts/a.jsonl": "a line\n", "gateway/x/sock": "stays", "lock": "1"})
	r := Record{Phase: Asked, State: state, Result: update.Result{From: one, To: two, Room: "!den", Event: "$1", Begun: time.Now(), Before: update.Snapshot{Rooms: 1}}}
	check(t, base.Write(r))
	return &Updater{Base: base, Running: one, State: state, Secrets: []string{"geheim"}}, r
}

// switched is the same after the switch.
func switched(t *testing.T) (Base, Record) {
	t.Helper()
	u, r := prepared(t, "")
	check(t, copyState(t.Context(), r.State, u.Base.path("state-before", two)))
	r.Phase = Switched
	check(t, u.Base.Write(r))
	return u.Base, r
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// state returns what matters of a state folder: the lock has its last owner.
func stateOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := read(t, dir)
	delete(files, "lock")
	return files
}

var old = map[string]string{"state.json": "old", "transcripts/a.jsonl": "a line\n", "gateway/x/sock": "stays"}

func record(t *testing.T, base Base) Record {
	t.Helper()
	r, err := base.Read()
	check(t, err)
	return r
}

// A release that becomes ready with the state is the current one.
func TestSwitch(t *testing.T) {
	u, r := prepared(t, `[ "$*" = "run -until-ready" ] && echo new >state.json && echo ready`)
	program, err := u.Switch(t.Context())
	if err != nil || program != u.Base.Program(two) || u.Base.Current() != two {
		t.Errorf("%s, %v, current is %s", program, err, u.Base.Current())
	}
	check(t, u.Base.AtStart(two))
	if got := record(t, u.Base); got.Phase != Switched {
		t.Errorf("before it is ready again: %+v", got)
	}
	_, err = u.Base.Ready(two)
	check(t, err)
	if res, untold := u.Result(); !untold || !res.Done || res.Before.Rooms != 1 {
		t.Errorf("%+v, %v", res, untold)
	}
	check(t, u.Told())
	if _, untold := u.Result(); untold {
		t.Error("it would be told twice")
	}
	if got := read(t, r.State)["state.json"]; got != "new\n" {
		t.Errorf("state %q", got)
	}
}

// However a new release ends before it is ready, the old one gets its state back, and the room learns the cause.
func TestSwitchFails(t *testing.T) {
	for name, c := range map[string]struct{ script, why, log string }{
		"exits":   {`echo '{"level":"error","error":"boom","message":"ended"}' >&2; echo panic: x >&2; exit 1`, "It ended before it was ready.", "error: ended: boom\npanic: x"},
		"refuses": {"echo matrix-tui: Invalid configuration: geheim >&2; exit 2", "It ended before it was ready.", "matrix-tui: Invalid configuration: redacted"},
		"fatal":   {"echo fatal error: sync: unlock of unlocked mutex >&2; for i in $(seq 9000); do echo goroutine $i: >&2; done; exit 2", "It ended before it was ready.", "fatal error: sync"},
		"stops":   {"exit 0", "It ended before it was ready.", ""},
		"killed":  {"kill -9 $$", "It ended before it was ready.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u, r := prepared(t, "echo spoilt >state.json; echo spoilt >journal.db-wal; mkdir more; echo >more/x\n"+c.script)
			program, err := u.Switch(t.Context())
			if err == nil || program != u.Base.Program(one) || u.Base.Current() != one {
				t.Errorf("%s, %v, current is %s", program, err, u.Base.Current())
			}
			if diff := cmp.Diff(old, stateOf(t, r.State)); diff != "" {
				t.Errorf("the state is not what it was:\n%s", diff)
			}
			if kept := read(t, u.Base.path("state-failed", two)); kept["state.json"] != "spoilt\n" {
				t.Errorf("what the failed release wrote is not kept: %q", kept)
			}
			got := record(t, u.Base)
			if got.Phase != Failed || got.Why != c.why || got.Told || got.Failures[two] != 1 {
				t.Errorf("%+v", got)
			}
			if log := strings.Join(got.Log, "\n"); !strings.HasPrefix(log, c.log) || len(got.Log) > 10 {
				t.Errorf("the room is told: %s", log)
			}
		})
	}
}

// A release has its time from its last sign that it waits for the homeserver, and not for ever.
func TestExtends(t *testing.T) {
	p := program{limit: time.Second / 2, extends: true}
	if out, err := p.run(t.Context(), "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.2; echo waiting; done; echo ready"); err != nil || !strings.HasSuffix(out, "ready\n") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := p.run(t.Context(), "sh", "-c", "sleep 60 & wait"); err == nil || err.Error() != "sh: not done after 500ms" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := p.run(ctx, "sh", "-c", "while echo waiting; do sleep 0.1; done"); err == nil || ctx.Err() == nil {
		t.Error(err)
	}
}

// A rollback that is interrupted anywhere is completed by the next start of the old release.
func TestACutRollbackIsFinished(t *testing.T) {
	for name, cut := range map[string]func(base Base, r Record) error{
		"at once": func(Base, Record) error { return nil },
		"aside": func(b Base, r Record) error {
			return copyState(context.Background(), r.State, b.path("state-failed", two))
		},
		"restored": func(b Base, r Record) error {
			return copyState(context.Background(), b.path("state-before", two), r.State)
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, r := switched(t)
			write(t, r.State, map[string]string{"state.json": "spoilt"})
			r.fails("why", []string{"log"}, true)
			check(t, base.Write(r))
			check(t, cut(base, r))
			check(t, base.AtStart(one))
			got := record(t, base)
			if diff := cmp.Diff(old, stateOf(t, r.State)); diff != "" || got.Phase != Failed || got.Why != "why" || got.Failures[two] != 1 {
				t.Errorf("%+v, state:\n%s", got, diff)
			}
		})
	}
}

// What is cut off before the link changes is dropped, and nobody is to blame; afterwards the new release is in charge.
func TestWhatIsCutOff(t *testing.T) {
	for _, p := range []Phase{Asked, Switched} {
		base, r := switched(t)
		r.Phase = p
		check(t, base.Write(r))
		check(t, base.AtStart(one))
		if got := record(t, base); got.Phase != Failed || got.Told || got.Failures[two] != 0 || !strings.Contains(got.Why, "interrupted") {
			t.Errorf("%s: record %+v", p, got)
		}
	}
	base, r := switched(t)
	write(t, r.State, map[string]string{"state.json": "new"})
	check(t, base.Use(two))
	check(t, base.AtStart(two))
	_, err := base.Ready(two)
	check(t, err)
	if got := record(t, base); got.Phase != Done || read(t, r.State)["state.json"] != "new" {
		t.Errorf("after the link: %+v", got)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
