package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/errorhandling"

	"matrix-tui/state/sentence"
)

// Kinds of failure, each with a sentence; compare with errors.Is.
var (
	// ErrNotFound: no such container, or no such file in the container.
	ErrNotFound = sentence.New(errors.New("not found"), "There is no such container or file; send the task again and the room's container is made anew.")
	// ErrNotRunning: the container is there but stopped or paused.
	ErrNotRunning = sentence.New(errors.New("container is not running"), "The room's container is not running; send the task again and it is started.")
	// ErrNameTaken: the container or volume of that name belongs to somebody else.
	ErrNameTaken = sentence.New(errors.New("name is taken by a foreign container or volume"), "A container or volume that is not this room's has the name that this room's needs, and is left alone. The operator finds it with `podman ps -a` or `podman volume ls` and can free the name with `podman rename`, `podman rm` or `podman volume rm`.")
	// ErrUnreachable: podman's service does not answer.
	ErrUnreachable = sentence.New(errors.New("podman is unreachable"), "Podman does not answer. The operator can start it with `systemctl start podman.socket` (rootless: `systemctl --user start podman.socket`), or set CONTAINER_HOST to its socket.")
	// ErrImageMissing: the image is not on this host.
	ErrImageMissing = sentence.New(errors.New("image is missing"), "The sandbox image is not on this host. The operator can build it with `./deploy/image/build`, or set SANDBOX_IMAGE to one that `podman images` shows.")
	// ErrOutOfMemory: the host or the container has no memory left.
	ErrOutOfMemory = sentence.New(errors.New("out of memory"), "There was not enough memory. A smaller task may work; the operator can raise SANDBOX_MEMORY or free memory on the host (`free -m`).")
	// ErrNoSpace: the host's disk is full.
	ErrNoSpace = sentence.New(errors.New("no space left on the disk"), "The host's disk is full. The operator can look with `podman system df` and make room with `podman image prune`.")
	// ErrNotEmpty: a room whose volumes are to be made has some already.
	ErrNotEmpty = sentence.New(errors.New("the room has volumes already"), "A room of the backup has volumes on this host already; they are left alone. The operator can have them replaced with -force.")
	// ErrNoSlot: every range of user IDs is taken by a room's volumes.
	ErrNoSlot = sentence.New(errors.New("no range of user IDs is left"), "There are as many rooms with a workspace as this host can keep apart. The operator can remove workspaces that nobody needs with `podman volume rm`.")
)

// texts that podman's answers hold, and what they mean. The first match counts.
var texts = []struct {
	part string
	kind *sentence.Error
}{
	{"no such container", ErrNotFound},
	{"no container with name or ID", ErrNotFound},
	{"no such volume", ErrNotFound},

	{"image not known", ErrImageMissing},
	{"no such image", ErrImageMissing},
	{"already in use", ErrNameTaken},
	{"already exists", ErrNameTaken},
	{"container state improper", ErrNotRunning},
	{"is not running", ErrNotRunning},
	{"is paused", ErrNotRunning},
	{"cannot allocate memory", ErrOutOfMemory},
	{"out of memory", ErrOutOfMemory},
	{"no space left on device", ErrNoSpace},
}

// kindOf finds the kind of an error from podman's bindings or its socket, nil for
// none. What podman says is text: its typed errors end at the socket.
func kindOf(err error) *sentence.Error {
	var connect bindings.ConnectError
	var op *net.OpError
	var model *errorhandling.ErrorModel
	switch {
	case errors.As(err, &model):
		text := model.Because + "\n" + model.Message
		for _, t := range texts {
			if strings.Contains(text, t.part) {
				return t.kind
			}
		}
		if model.ResponseCode == http.StatusServiceUnavailable {
			return ErrUnreachable
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.As(err, &connect), errors.As(err, &op), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrUnreachable
	}
	return nil
}

// explain wraps an error with what was done to what, and with its kind.
func explain(err error, verb, object string) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil {
		if _, known := sentence.Of(err); known {
			return fmt.Errorf("%s %s: %w", verb, object, err)
		}
		return fmt.Errorf("%s %s: %w: %w", verb, object, kind, err)
	}
	return fmt.Errorf("%s %s: %w", verb, object, err)
}
