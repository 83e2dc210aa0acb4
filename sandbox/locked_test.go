package sandbox

import (
	"errors"
	"testing"

	"matrix-tui/sandbox/boxinit"
)

// A lock that a process of the container keeps is explained to the room.
func TestLockedIsExplained(t *testing.T) {
	_, err := started("r", []byte(`{"Error":"lock /var/lib/boxinit/lock: it `+boxinit.Locked+`, for more than 30s"}`))
	if !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want ErrLocked", err)
	}
}
