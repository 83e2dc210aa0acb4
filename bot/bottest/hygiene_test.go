package bottest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpokenIn(t *testing.T) {
	const log = `{"level":"debug","user":"@bot-x:localhost","message":"ready"}
{"level":"warn","error":"bad \"quoted words\" here","message":"a short one; tell nobody of the well"}`
	for _, c := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"a text", []string{"write a prime checker"}, nil},
		{"a text that is there, twice", []string{"tell nobody of the well", "tell nobody of the well"}, []string{`what was said: "tell nobody of the well"`}},
		{"one line of several", []string{"hello\n  tell nobody of the well \nbye"}, []string{`what was said: "tell nobody of the well"`}},
		{"escaped", []string{`"quoted words"`}, []string{`what was said: "\"quoted words\""`}},
		{"too short to tell", []string{"short one"}, nil},
		{"a name", []string{"@bot-x:localhost"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, spokenIn(log, c.texts)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"the key"}, secretsIn(log, map[string]string{"the key": "bot-x:local", "none": "", "other": "AIza"})); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}
