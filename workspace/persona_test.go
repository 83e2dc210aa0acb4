package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPersona(t *testing.T) {
	room := map[string]string{"SOUL.md": "the room's", "USER.md": " \n", "OTHER.md": "x"}
	state := map[string]string{"SOUL.md": "the state's", "USER.md": "users", "IDENTITY.md": "me", "AGENTS.md": "rules"}
	got := Persona(Text{"pirate.md", "arr"}, room, state)
	want := []Text{{"pirate.md", "arr"}, {"AGENTS.md", "rules"}, {"SOUL.md", "the room's"}, {"USER.md", "users"}, {"IDENTITY.md", "me"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Persona(Text{"pirate.md", "\n"}, nil, nil); got != nil {
		t.Errorf("%v of nothing", got)
	}
}

func TestPersonaText(t *testing.T) {
	const head = "These files say who you are and how you work in this room:\n\n"
	big := strings.Repeat("é", MaxPersonaFile)
	const note = "…\n(the rest of this file is left out)\n\n"
	part := strings.Repeat("é", (MaxPersonaFile-len(note)+len("\n\n"))/2)
	tests := []struct {
		name  string
		files []Text
		want  string
	}{
		{"none", nil, ""},
		{"blank", []Text{{"SOUL.md", " \r\n"}}, ""},
		{"hostile", []Text{{"S\n@x\u202e.md", "mail @bob\r\n\x00\xff\n\n"}, {"\x00", "b"}},
			head + "## S \\@x.md\n\nmail \\@bob\n\uFFFD\n\n## persona\n\nb\n\n" + filesGuard},
		{"a long one", []Text{{"a", big}, {"b", "short"}}, head + "## a\n\n" + part + note + "## b\n\nshort\n\n" + filesGuard},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, persona(test.files)); diff != "" {
				t.Error(diff)
			}
		})
	}
	got := persona([]Text{{"a", big}, {"b", big}, {"c", big}, {"d", "short"}, {"e", big}})
	if !strings.HasSuffix(got, "(more of these files are left out)\n\n"+filesGuard) || strings.Contains(got, "## e") || strings.Count(got, "(the rest of this file is left out)") != 3 {
		t.Errorf("%d bytes, ends %.300q", len(got), got[len(got)-300:])
	}
}
