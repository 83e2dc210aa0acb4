package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDotenv(t *testing.T) {
	const wrong = " do not enclose its value, or it has an unknown escape; put the whole value in single quotes"
	for _, tt := range []struct {
		name, in string
		want     map[string]string
		problems []string
	}{
		{name: "empty", in: "\n  \n# nothing\n", want: map[string]string{}},
		{name: "plain", in: "A=1\nB = two words \nC=\n", want: map[string]string{"A": "1", "B": "two words", "C": ""}},
		{name: "export", in: "export A=1\nexport\tB=2", want: map[string]string{"A": "1", "B": "2"}},
		{name: "windows", in: "\ufeffA=1\r\nB='x'\r\n", want: map[string]string{"A": "1", "B": "x"}},
		{name: "comment after a value", in: "A=1 # one # two\nB=a#b\nC=\"q\" # c\nD=# all", want: map[string]string{"A": "1", "B": "a#b", "C": "q", "D": ""}},
		{name: "quotes", in: `A='$HOME \n "x"'` + "\n" + `B="a\"b\\c\n\$d # e"`, want: map[string]string{"A": `$HOME \n "x"`, "B": "a\"b\\c\n$d # e"}},
		{name: "equals in value", in: "A=b=c==", want: map[string]string{"A": "b=c=="}},
		{name: "nothing is expanded", in: "A=$HOME/x", want: map[string]string{"A": "$HOME/x"}},
		{
			name: "problems",
			in:   "A=1\nnonsense\n1X=2\nB=\"open\nC='x' y\nA=2\nD=\"\\z\"\nE=\x00\nF=\"\\",
			want: map[string]string{"A": "1"},
			problems: []string{
				":2: not a setting; write NAME=value, or start a comment with #",
				":3: not a setting; write NAME=value, or start a comment with #",
				":4: the quotes of B" + wrong,
				":5: the quotes of C" + wrong,
				":6: A is set twice; keep one of the two lines",
				":7: the quotes of D" + wrong,
				":8: not a setting; write NAME=value, or start a comment with #",
				":9: the quotes of F" + wrong,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := parseDotenv(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadDotenvFile(t *testing.T) {
	dir := t.TempDir()
	if got, problems := readDotenv(dir); got != nil || problems != nil {
		t.Errorf("without a file: %v, %v", got, problems)
	}
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte("x y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := readDotenv(dir)
	if want := []string{path + ":1: not a setting; write NAME=value, or start a comment with #"}; !cmp.Equal(want, problems) {
		t.Errorf("problems = %q, want %q", problems, want)
	}
	if err := os.WriteFile(path, []byte("A="+strings.Repeat("x", maxDotenv)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems = readDotenv(dir); len(problems) != 1 || !strings.Contains(problems[0], "larger than 1 MiB") {
		t.Errorf("a file without bounds: %q", problems)
	}
	if _, problems = readDotenv(path); problems != nil {
		t.Errorf("a folder that is a file: %q", problems)
	}
}

// FuzzParseDotenv: whatever the file contains, each line is a setting with a valid name, a comment, or exactly one
// problem with its number.
func FuzzParseDotenv(f *testing.F) {
	f.Add("A=1\nexport B='2' # c\nC=\"\\n\"\n")
	f.Add("\ufeff=\r\n\x00\nA=\"\\")
	f.Fuzz(func(t *testing.T, in string) {
		settings, problems := parseDotenv(in)
		if lines := strings.Count(in, "\n") + 1; len(settings)+len(problems) > lines {
			t.Errorf("%d settings and %d problems in %d lines", len(settings), len(problems), lines)
		}
		for name, value := range settings {
			if assignment.FindString(name+"=") == "" || strings.ContainsRune(value, 0) {
				t.Errorf("setting %q=%q", name, value)
			}
		}
		for _, p := range problems {
			if !strings.HasPrefix(p, ":") || strings.ContainsRune(p, '\n') {
				t.Errorf("problem %q", p)
			}
		}
	})
}
