package release

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"matrix-tui/state/sentence"
)

// Only a request that says so installs a release that is older, or that may be.
func TestOnlyNewer(t *testing.T) {
	base := Base(t.TempDir())
	u := &Updater{Base: base, Running: one, Source: "https://example.org/x.git"}
	for _, c := range []struct {
		key  string
		o    Order
		age  age
		want string // part of the sentence; "" = allowed, "nothing" = ErrNothingNew
	}{
		{"", Order{}, newer, ""},
		{"k", Order{}, newer, ""},
		{"k", Order{Ref: "v2"}, newer, ""},
		{"", Order{}, older, "nothing"},
		{"", Order{Ref: "v2"}, older, "is older than the running one"},
		{"", Order{Ref: "v2", Back: true}, older, ""},
		{"", Order{Ref: "v2"}, unknown, ""},
		{"k", Order{}, unknown, "may be older than the running one"},
		{"k", Order{Ref: "v2"}, unknown, "send `!self_update " + two + " back`"},
		{"k", Order{Ref: "v2", Back: true}, unknown, ""},
	} {
		u.Key = c.key
		err := u.wanted(c.o, Plan{From: one, To: two, Age: c.age})
		switch {
		case c.want == "nothing" && errors.Is(err, ErrNothingNew), c.want == "" && err == nil:
		case c.want == "", err == nil, !strings.Contains(sentence.Text(err), c.want):
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
}

// That a release is older is known from numbers, also if the source has lost the running release's commit.
func TestAge(t *testing.T) {
	for _, c := range []struct {
		running, to int
		want        age
	}{{0, 5, unknown}, {5, 0, unknown}, {5, 5, unknown}, {5, 6, unknown}, {6, 5, older}} {
		if got := ageOf(c.running, c.to); got != c.want {
			t.Errorf("%d to %d: %d, want %d", c.running, c.to, got, c.want)
		}
	}
	repo := t.TempDir()
	mustRun(t, repo, nil, "git", "init", "--quiet", "--initial-branch=main")
	commit := func() string {
		mustRun(t, repo, nil, "git", "-c", "user.name=maker", "-c", "user.email=maker@localhost", "commit", "--quiet", "--allow-empty", "--message=x")
		return strings.TrimSpace(mustRun(t, repo, nil, "git", "rev-parse", "HEAD"))
	}
	first, second := commit(), commit()
	base := Base(t.TempDir())
	m, err := openMirror(t.Context(), base, repo)
	check(t, err)
	check(t, m.fetch(t.Context()))
	for commit, want := range map[string]int{first: 1, second: 2} {
		if n, err := m.number(t.Context(), commit); n != want || err != nil {
			t.Errorf("number of %s: %d, %v, want %d", commit, n, err, want)
		}
	}
	for running, want := range map[string]int{Short(first): 1, one: 0} {
		if n := (&Updater{Base: base, Running: running}).number(t.Context(), m); n != want {
			t.Errorf("number of the running release %s: %d, want %d", running, n, want)
		}
	}
	if _, err := m.number(t.Context(), one); err == nil {
		t.Error("a commit that does not exist has a number")
	}
}

// `latest` is not signed, so it may name any archive that was ever signed.
func TestArchiveOfOlderRelease(t *testing.T) {
	dir, public := packed(t) // release one, which has no number
	for running, want := range map[int]string{0: "may be older", 7: "may be older"} {
		base := Base(t.TempDir())
		plant(t, base, two, 0)
		info := `{"commit":"` + two + strings.Repeat("2", 28) + `","number":` + strconv.Itoa(running) + `}`
		check(t, os.WriteFile(filepath.Join(base.Dir(two), "release.json"), []byte(info), 0o644))
		check(t, writeSums(base.Dir(two)))
		u := &Updater{Base: base, Running: two, Source: archivePrefix + "file://" + dir, Key: public}
		_, err := u.fetch(t.Context(), Order{}, nil, func(string) {})
		if err == nil || !strings.Contains(sentence.Text(err), want) {
			t.Errorf("running number %d: %v, want %q", running, err, want)
		}
		if _, err := u.fetch(t.Context(), Order{Back: true}, nil, func(string) {}); err != nil {
			t.Errorf("running number %d, on request: %v", running, err)
		}
	}
}

// A panic ends the request: the bot goes on, and takes the next one.
func TestPanicOfUpdate(t *testing.T) {
	dir, public := packed(t)
	base := Base(t.TempDir())
	plant(t, base, two, 0)
	u := &Updater{Base: base, Running: two, Source: archivePrefix + "file://" + dir, Key: public}
	for _, event := range []string{"$1", "$2"} {
		o := Order{Event: event}
		if known, err := u.Begin(o); known || err != nil {
			t.Fatal(event, known, err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			_, err := u.Prepare(t.Context(), o, func(string) { panic("x") })
			t.Error(err)
		}()
		if r, err := base.Read(); err != nil || r.Phase != Failed || !r.Told {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// A source that anybody on the way can change needs a key.
func TestOpenSource(t *testing.T) {
	for source, open := range map[string]bool{
		"http://example.org/x.git": true, "git://example.org/x.git": true, "archive+http://example.org/r": true, "http://192.0.2.1/x": true,
		"ftp://example.org/x.git":   true,
		"https://example.org/x.git": false, "ssh://git@example.org/x": false, "git@example.org:x.git": false, "/srv/x.git": false,
		"archive+https://example.org/r": false, "archive+file:///srv/r": false, "http://127.0.0.1:3000/x.git": false, "http://localhost/x": false, "http://[::1]/x": false,
	} {
		for _, key := range []string{"", "/etc/key"} {
			_, err := (&Updater{Base: Base(t.TempDir()), Running: one, Source: source, Key: key}).Begin(Order{})
			if rejected := err != nil && strings.Contains(sentence.Text(err), "UPDATE_KEY"); rejected != (open && key == "") {
				t.Errorf("%s, key %q: %v", source, key, err)
			}
		}
	}
}
