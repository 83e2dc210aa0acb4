package release

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// switched creates a base that has just been switched to release two.
func switched(t *testing.T) (Base, Record) {
	t.Helper()
	base, state := Base(t.TempDir()), t.TempDir()
	plant(t, base, one, 0)
	plant(t, base, two, 0)
	if err := base.Use(one); err != nil {
		t.Fatal(err)
	}
	write(t, state, map[string]string{"state.json": "old", "transcripts/a.jsonl": "a line\n", "gateway/x/sock": "stays", "lock": "1"})
	r := Record{Phase: Switched, From: one, To: two, State: state, Room: "!den", Event: "$1", Begun: time.Now(), Switched: time.Now(), PID: 1 << 22}
	if err := copyState(t.Context(), state, base.path("state-before", two), false); err != nil {
		t.Fatal(err)
	}
	if err := base.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := base.link("current", two); err != nil {
		t.Fatal(err)
	}
	return base, r
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

var old = map[string]string{"state.json": "old", "transcripts/a.jsonl": "a line\n", "gateway/x/sock": "stays", "lock": "1"}

func phase(t *testing.T, base Base) Record {
	t.Helper()
	r, err := base.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start(t *testing.T, base Base, running, invocation string) Start {
	t.Helper()
	s, err := base.AtStart(running, invocation)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestANewReleaseStartsAndIsReady(t *testing.T) {
	base, _ := switched(t)
	if s := start(t, base, two, ""); !s.Watched || !s.Unwatched || s.Exec != "" {
		t.Errorf("start = %+v", s)
	}
	if err := base.Ready(two); err != nil {
		t.Fatal(err)
	}
	if r := phase(t, base); r.Phase != Done || base.linked("good") != two {
		t.Errorf("phase %q, good is %s", r.Phase, base.linked("good"))
	}
	if s := start(t, base, two, ""); s != (Start{}) {
		t.Errorf("a later start = %+v", s)
	}
}

func TestAReleaseThatIsStartedTooOftenIsRolledBack(t *testing.T) {
	base, r := switched(t)
	for range maxStarts {
		if s := start(t, base, two, ""); s.Exec != "" {
			t.Fatalf("rolled back at once: %+v", s)
		}
	}
	write(t, r.State, map[string]string{"state.json": "spoilt", "journal.db-wal": "spoilt", "more/x": "spoilt"})
	if err := os.WriteFile(base.logFile(), []byte(`{"level":"error","error":"boom","message":"ended"}`+"\npanic: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := start(t, base, two, ""); s.Exec != base.Program(one) {
		t.Errorf("start = %+v, want the old release", s)
	}
	if diff := cmp.Diff(old, read(t, r.State)); diff != "" {
		t.Errorf("the state is not what it was:\n%s", diff)
	}
	got := phase(t, base)
	want := Record{Phase: RolledBack, Log: []string{"error: ended: boom", "panic: x"}, Failures: map[string]int{two: 1}, Why: "It was started 2 times and did not become ready."}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Record{}, "From", "To", "State", "Room", "Event", "Begun", "Switched", "Ended", "PID", "Starts")); diff != "" {
		t.Errorf("record:\n%s", diff)
	}
	if base.Current() != one {
		t.Errorf("current is %s", base.Current())
	}
	if kept := read(t, base.path("state-failed", two)); kept["state.json"] != "spoilt" {
		t.Errorf("what the failed release wrote is not kept: %q", kept)
	}
	if s := start(t, base, one, ""); s != (Start{}) {
		t.Errorf("the old release's start = %+v", s)
	}
}

func TestOneStartIsCountedOnce(t *testing.T) {
	base, _ := switched(t)
	for range 2 * maxStarts { // the guard and the release itself, in one invocation
		if s := start(t, base, two, "a"); s.Exec != "" {
			t.Fatal("rolled back after one start")
		}
	}
	if err := base.Guard("b"); err != nil {
		t.Fatal(err)
	}
	if err := base.Guard("c"); err != nil {
		t.Fatal(err)
	}
	if r := phase(t, base); r.Phase != RolledBack || base.Current() != one {
		t.Errorf("phase %q, current %s", r.Phase, base.Current())
	}
}

// A rollback that is interrupted anywhere is completed by the next start.
func TestACutRollbackIsFinished(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, base Base, r Record){
		"at once": func(*testing.T, Base, Record) {},
		"linked":  func(t *testing.T, base Base, _ Record) { check(t, base.link("current", one)) },
		"aside": func(t *testing.T, base Base, r Record) {
			check(t, base.setAside(r.State, base.path("state-failed", two)))
		},
		"restored": func(t *testing.T, base Base, r Record) {
			check(t, restoreState(base.path("state-before", two), r.State))
		},
	} {
		for _, running := range []string{one, two} {
			t.Run(name+" "+running, func(t *testing.T) {
				base, r := switched(t)
				write(t, r.State, map[string]string{"state.json": "spoilt"})
				r.fail(Failing, "why", nil, true)
				check(t, base.Write(r))
				cut(t, base, r)
				if s := start(t, base, running, ""); (s.Exec != "") != (running == two) {
					t.Errorf("start = %+v", s)
				}
				if diff := cmp.Diff(old, read(t, r.State)); diff != "" || phase(t, base).Phase != RolledBack || base.Current() != one {
					t.Errorf("phase %q, current %s, state:\n%s", phase(t, base).Phase, base.Current(), diff)
				}
			})
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsCutOffBeforeTheSwitch(t *testing.T) {
	for _, p := range []Phase{Asked, Prepared, Switched} {
		base, r := switched(t)
		r.Phase = p
		check(t, base.Write(r))
		check(t, base.link("current", one))
		if s := start(t, base, one, ""); s != (Start{}) {
			t.Errorf("%s: start = %+v", p, s)
		}
		if got := phase(t, base); got.Phase != Failed || got.Told || got.Failures[two] != 0 || base.Current() != one {
			t.Errorf("%s: record %+v", p, got)
		}
	}
}
