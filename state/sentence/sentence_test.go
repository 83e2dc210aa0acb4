package sentence

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type settings struct{ error }

func (settings) Sentence() string { return "Set it." }

func TestOf(t *testing.T) {
	full := New(io.ErrShortWrite, "The disk is full.")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"none":        {nil, ""},
		"no sentence": {io.EOF, ""},
		"its own":     {full, "The disk is full."},
		"wrapped":     {fmt.Errorf("save: %w", full), "The disk is full."},
		"joined":      {errors.Join(io.EOF, full), "The disk is full."},
		"outermost":   {Newf(full, "No %s.", "update"), "No update."},
		"other types": {fmt.Errorf("start: %w", settings{io.EOF}), "Set it."},
	} {
		got, ok := Of(c.err)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if !errors.Is(full, io.ErrShortWrite) || full.Error() != io.ErrShortWrite.Error() {
		t.Error("the error is lost")
	}
}

func TestTell(t *testing.T) {
	if text, id := Tell(New(io.EOF, "Send it again.")); text != "Send it again." || id != "" {
		t.Errorf("%q, %q", text, id)
	}
	text, id := Tell(errors.New("dial /run/secret.sock"))
	if len(id) != 8 || !strings.Contains(text, "internal error "+id) || strings.Contains(text, "secret") {
		t.Errorf("%q, %q", text, id)
	}
	if _, other := Tell(io.EOF); other == id {
		t.Error("the same ID twice")
	}
	if got := Text(io.EOF); got != "EOF" {
		t.Errorf("%q", got)
	}
}

func TestLines(t *testing.T) {
	err := fmt.Errorf("build: %w", New(io.EOF, "It does not compile.").With([]string{"a", "b"}))
	if diff := cmp.Diff([]string{"a", "b"}, Lines(err)); diff != "" {
		t.Error(diff)
	}
	if Lines(io.EOF) != nil {
		t.Error("lines of nothing")
	}
}
