package bot

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
)

func TestPersonaFiles(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      map[string]string
	}{
		{"none", "", map[string]string{}},
		{"two", "SOUL.md 5\nlines\nUSER.md 3\na\nb\n", map[string]string{"SOUL.md": "lines", "USER.md": "a\nb"}},
		{"empty", "SOUL.md 0\n\n", map[string]string{"SOUL.md": ""}},
		{"a file that nobody asked for", "evil 2\nhi\nSOUL.md 1\nx\n", map[string]string{"SOUL.md": "x"}},
		{"longer than it is", "SOUL.md 500\nshort\n", map[string]string{}},
		{"negative", "SOUL.md -1\nx\n", map[string]string{}},
		{"no head", "anything at all", map[string]string{}},
	} {
		if diff := cmp.Diff(c.want, personaFiles([]byte(c.out))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func FuzzPersonaFiles(f *testing.F) {
	f.Add([]byte("SOUL.md 5\nlines\nUSER.md 3\na\nb\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, text := range personaFiles(out) {
			if len(text) > len(out) {
				t.Error("more than there is")
			}
		}
	})
}

func TestRelate(t *testing.T) {
	row := state.Inbound{Event: "$task", Raw: []byte(`{"event_id":"$task","type":"m.room.message","sender":"@a:b","content":{"msgtype":"m.text","body":"x"}}`)}
	plain := originOf(row)
	row.Raw = []byte(strings.Replace(string(row.Raw), `"body":"x"`, `"body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$root"}`, 1))
	thread := originOf(row)
	if rel := relate(plain, "$answer"); rel.InReplyTo.EventID != "$answer" || rel.RelType != "" {
		t.Errorf("a plain reply is %+v", rel)
	}
	if rel := relate(thread, "$answer"); rel.InReplyTo.EventID != "$task" || rel.RelType != "m.thread" || rel.EventID != "$root" || rel.IsFallingBack {
		t.Errorf("a reply in a thread is %+v", rel)
	}
	if rel := follows(plain); rel != nil {
		t.Errorf("what follows is %+v", rel)
	}
	if rel := follows(thread); rel.RelType != "m.thread" || rel.EventID != "$root" || !rel.IsFallingBack {
		t.Errorf("what follows in a thread is %+v", rel)
	}
}

func TestAvatar(t *testing.T) {
	data, err := avatar()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() != 192 || len(data) > 8<<10 {
		t.Errorf("%v, %d bytes", err, len(data))
	}
}

func TestDirects(t *testing.T) {
	var d directs
	d.take([]byte(`{"@ann:x":["!a","!b"]}`))
	d.take([]byte(`["nonsense"]`))
	if d.user("!a") != "@ann:x" || d.user("!c") != "" {
		t.Errorf("%q, %q", d.user("!a"), d.user("!c"))
	}
	if _, changed := d.with("@ann:x", "!a"); changed {
		t.Error("what is there is added")
	}
	users, changed := d.with("@bob:x", "!c")
	if diff := cmp.Diff(map[string][]string{"@ann:x": {"!a", "!b"}, "@bob:x": {"!c"}}, users); diff != "" || !changed {
		t.Error(diff)
	}
	if d.user("!c") != "" {
		t.Error("a copy changes the original")
	}
}

// Each command can be described to a client.
func TestDescriptions(t *testing.T) {
	for _, c := range commands {
		if err := c.description().Validate(); err != nil {
			t.Errorf("!%s: %v", c.name, err)
		}
	}
}
