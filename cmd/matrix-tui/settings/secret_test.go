package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v3"
)

const hidden = "hunter2-hunter2"

// holder contains a Secret in each way that a structure can.
type holder struct {
	Open   Secret
	Ptr    *Secret
	List   []Secret
	Map    map[string]Secret
	closed Secret
}

func newHolder() holder {
	s := NewSecret(hidden)
	return holder{Open: s, Ptr: &s, List: []Secret{s}, Map: map[string]Secret{"k": s}, closed: s}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	h := newHolder()
	if h.closed.Reveal() != hidden {
		t.Fatalf("Reveal gives %q", h.closed.Reveal())
	}
	for _, verb := range strings.Split("v +v #v s q x X d o b c U e E f F g G t p T w 20s -20v .3s 08d", " ") {
		for _, value := range []any{h, &h, h.Open, &h.Open, h.List, h.Map} {
			out := fmt.Sprintf("%"+verb, value)
			if leaks(out) {
				t.Errorf("%%%s of %T prints the secret: %s", verb, value, out)
			}
		}
		if out := fmt.Sprintf("%"+verb, h.Open); verb != "T" && verb != "p" && verb != "w" && out != Redacted {
			t.Errorf("%%%s of a Secret = %q, want %q", verb, out, Redacted)
		}
	}
	if out := fmt.Sprint(h.Open) + fmt.Sprintln(h); leaks(out) {
		t.Errorf("Sprint prints the secret: %s", out)
	}
	if err := fmt.Errorf("log in with %v: %w", h.Open, fmt.Errorf("%s", h.Open)); leaks(err.Error()) {
		t.Errorf("an error prints the secret: %v", err)
	}
}

func TestSecretIsNeverEncoded(t *testing.T) {
	h := newHolder()
	var log bytes.Buffer
	z := zerolog.New(&log)
	z.Info().Any("h", h).Interface("s", h.Open).Stringer("t", h.Open).Fields(map[string]any{"m": h.Open}).Msg("")
	z.Info().Msgf("%v %+v", h, h.Open)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "h", h, "s", h.Open)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "h", h, "s", h.Open)
	if leaks(log.String()) {
		t.Errorf("a log shows the secret:\n%s", log.String())
	}
	asJSON, err := json.Marshal(h)
	if err != nil || leaks(string(asJSON)) || !strings.Contains(string(asJSON), `"Open":"redacted"`) {
		t.Errorf("json: %s, %v", asJSON, err)
	}
	asYAML, err := yaml.Marshal(map[string]any{"s": h.Open})
	if err != nil || string(asYAML) != "s: redacted\n" {
		t.Errorf("yaml: %s, %v", asYAML, err)
	}
}

// leaks finds the secret in plain text, in hex and in pieces.
func leaks(out string) bool {
	for _, form := range []string{hidden, hidden[:7], fmt.Sprintf("%x", hidden[:7]), fmt.Sprintf("%X", hidden[:7])} {
		if strings.Contains(out, form) {
			return true
		}
	}
	return false
}

func TestSecretUnmarshalText(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "abc\n": "abc", "abc\r\n": "abc", " a b ": " a b ", "": ""} {
		var s Secret
		if err := s.UnmarshalText([]byte(in)); err != nil || s.Reveal() != want || s.Set() != (want != "") {
			t.Errorf("UnmarshalText(%q) = %q, %v, want %q", in, s.Reveal(), err, want)
		}
	}
	var s Secret
	if err := s.UnmarshalText([]byte("one\ntwo")); err == nil {
		t.Error("a value of two lines was accepted")
	}
}
