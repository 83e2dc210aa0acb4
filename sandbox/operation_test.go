package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestUnattended(t *testing.T) {
	const crash = "runtime: failed to create new OS thread (errno=11)"
	if err := unattended(2, crash+"\nfatal error: newosproc"); !errors.Is(err, ErrExhausted) || strings.Contains(err.Error(), "newosproc") {
		t.Error(err)
	}
	for said, code := range map[string]int{"usage: boxinit": exitUsage, "exec: permission denied": exitNotExecutable, "stat /boxinit: no such file or directory": exitNoProgram} {
		if err := unattended(code, said); !errors.Is(err, ErrOldImage) {
			t.Error(err)
		}
	}
	if err := unattended(exitNotExecutable, "attach: connection reset by peer"); err == nil || errors.Is(err, ErrOldImage) {
		t.Error(err)
	}
}
