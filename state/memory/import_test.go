package memory

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseImport(t *testing.T) {
	entries, err := ParseImport(strings.NewReader("\uFEFF" + `{"role":"user","name":"Ann","content":"hi","time":"2026-05-08T13:56:00+02:00"}
{"role":"assistant","content":"hello\nthere"}

{"content":"no more", "time": 1778234160, "extra": [1]}`))
	must(t, err)
	at := time.Date(2026, 5, 8, 11, 56, 0, 0, time.UTC)
	if len(entries) != 3 || entries[0].Speaker != "Ann" || !entries[0].Time.Equal(at) || entries[1].Speaker != "assistant" || !entries[1].Time.Equal(at) || entries[2].From != 4 || entries[2].Time.Year() != 2026 {
		t.Errorf("%+v", entries)
	}
}

func TestImportTimes(t *testing.T) {
	want := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	for _, text := range []string{`"2023-05-08T13:56:00Z"`, `"2023-05-08T13:56:00"`, `"2023-05-08 13:56"`, `"1:56 pm on 8 May, 2023"`, `1683554160`, `1683554160000`, `"1683554160"`, `"2023-05-08T15:56:00+02:00"`} {
		if at, ok := parseTime([]byte(text)); !ok || !at.Equal(want) {
			t.Errorf("%s: %v, %v", text, at, ok)
		}
	}
	for _, text := range []string{`"yesterday"`, `-1`, `1e300`, `{}`, `"9999-01-01"`, `true`} {
		if at, ok := parseTime([]byte(text)); ok {
			t.Errorf("%s is %v", text, at)
		}
	}
}

// A file with a bad line is not imported at all, and every bad line is named.
func TestBadImport(t *testing.T) {
	for text, want := range map[string]string{
		"{\"content\":\"walrus\"}\n{\"content\":":    "line 2: it is not JSON",
		"{\"content\":\"walrus\"}\nnull\n[]":         "line 3: it is not a JSON object",
		"{\"content\":\"walrus\"}\n{\"content\":3}":  `line 2: "content" is not a text`,
		"{\"content\":\"walrus\"}\n{\"name\":\"x\"}": `line 2: it has no "content"`,
		"{\"content\":\"walrus\",\"time\":\"soon\"}": `line 1: "soon" is not a time`,
		"\n\n": "there is no line in it",
		"{\"content\":\"walrus\"}\n" + strings.Repeat("x", 3<<20): "line 2: it is longer than 1 MiB",
		strings.Repeat("x\n", 1000):                               "line 20: it is not JSON",
	} {
		entries, err := ParseImport(strings.NewReader(text))
		if !errors.Is(err, ErrImport) || !strings.Contains(err.Error(), want) || len(entries) > 0 {
			t.Errorf("%.40q: %.200v", text, err)
		}
	}
}

func FuzzParseImport(f *testing.F) {
	f.Add(`{"content":"x","time":"2026-01-01"}`)
	f.Add("{\"content\":\"\\ud800\",\"time\":1e9}\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ParseImport(strings.NewReader(text))
		if (err == nil) == (len(entries) == 0) {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	})
}

// endless is a conversation without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	line := `{"content":"` + strings.Repeat("a", 1000) + "\"}\n"
	n := 0
	for n+len(line) <= len(p) {
		n += copy(p[n:], line)
	}
	return n, nil
}

func TestImportThatDoesNotEnd(t *testing.T) {
	_, err := ParseImport(endless{})
	if !errors.Is(err, ErrImport) || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("error: %v", err)
	}
}
