package release

import (
	"errors"
	"os"
	"strings"
	"testing"

	"matrix-tui/bot/update"
	"matrix-tui/state/sentence"
)

// Only a request that says so installs a release that is older, or that may be.
func TestOnlyNewer(t *testing.T) {
	base := Base(t.TempDir())
	u := &Updater{Base: base, Running: one, Source: "https://example.org/x.git"}
	for _, c := range []struct {
		key  string
		o    update.Order
		age  age
		want string // part of the sentence; "" = allowed, "nothing" = update.ErrNothingNew
	}{
		{"", update.Order{}, newer, ""},
		{"k", update.Order{}, newer, ""},
		{"k", update.Order{Ref: "v2"}, newer, ""},
		{"", update.Order{}, older, "nothing"},
		{"", update.Order{Ref: "v2"}, older, "is older than the running one"},
		{"", update.Order{Ref: "v2", Back: true}, older, ""},
		{"", update.Order{Ref: "v2"}, unknown, ""},
		{"k", update.Order{}, unknown, "may be older than the running one"},
		{"k", update.Order{Ref: "v2"}, unknown, "send `!self_update " + two + " back`"},
		{"k", update.Order{Ref: "v2", Back: true}, unknown, ""},
	} {
		u.Key = c.key
		err := u.wanted(c.o, Plan{To: two, Age: c.age})
		switch {
		case c.want == "nothing" && errors.Is(err, update.ErrNothingNew), c.want == "" && err == nil:
		case c.want == "", err == nil, !strings.Contains(sentence.Text(err), c.want):
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
}

// `latest` is not signed, so it may name any archive that was ever signed.
func TestArchiveOfOlderRelease(t *testing.T) {
	dir, public := packed(t)
	base := Base(t.TempDir())
	plant(t, base, two, 0)
	check(t, os.Mkdir(base.path("cache"), 0o700))
	u := &Updater{Base: base, Running: two, Source: archivePrefix + "file://" + dir, Key: public}
	if _, err := u.fetch(t.Context(), update.Order{}, nil, func(string) {}); err == nil || !strings.Contains(sentence.Text(err), "may be older") {
		t.Error(err)
	}
	if _, err := u.fetch(t.Context(), update.Order{Back: true}, nil, func(string) {}); err != nil {
		t.Errorf("on request: %v", err)
	}
}

// A panic ends the request: the bot goes on, and takes the next one.
func TestPanicOfUpdate(t *testing.T) {
	dir, public := packed(t)
	base := Base(t.TempDir())
	plant(t, base, two, 0)
	u := &Updater{Base: base, Running: two, Source: archivePrefix + "file://" + dir, Key: public}
	for _, event := range []string{"$1", "$2"} {
		o := update.Order{Event: event}
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
			_, err := (&Updater{Base: Base(t.TempDir()), Running: one, Source: source, Key: key}).Begin(update.Order{})
			if rejected := err != nil && strings.Contains(sentence.Text(err), "UPDATE_KEY"); rejected != (open && key == "") {
				t.Errorf("%s, key %q: %v", source, key, err)
			}
		}
	}
}
