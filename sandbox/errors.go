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
	ErrNotFound = sentence.New(errors.New("not found"),
		"The container or file does not exist. Send the task again: the room's container will be recreated.")
	// ErrNotRunning: the container is stopped or paused.
	ErrNotRunning = sentence.New(errors.New("container is not running"),
		"The room's container is not running. Send the task again: the container will be started.")
	// ErrNameTaken: the name belongs to another container or volume.
	ErrNameTaken = sentence.New(errors.New("name is taken by another container or volume"),
		"A container or volume that does not belong to this room already uses the name that this room needs. I leave it "+
			"alone. The operator can find it with `podman ps -a` or `podman volume ls` and free the name with `podman "+
			"rename`, `podman rm` or `podman volume rm`.")
	// ErrUnreachable: podman's service does not answer.
	ErrUnreachable = sentence.New(errors.New("podman is unreachable"),
		"Podman does not answer. The operator can start it with `systemctl start podman.socket` (rootless: `systemctl "+
			"--user start podman.socket`), or set CONTAINER_HOST to its socket.")
	// ErrImageMissing: the image is not on this host.
	ErrImageMissing = sentence.New(errors.New("image is missing"),
		"The sandbox image is not on this host. The operator can build it with `./deploy/image/build`, or set "+
			"SANDBOX_IMAGE to one that `podman images` shows.")
	// ErrOutOfMemory: the host or the container has no memory left.
	ErrOutOfMemory = sentence.New(errors.New("out of memory"),
		"There was not enough memory. A smaller task may work; the operator can raise SANDBOX_MEMORY or free memory on the "+
			"host (`free -m`).")
	// ErrNoSpace: the host's disk is full.
	ErrNoSpace = sentence.New(errors.New("no space left on the disk"),
		"The host's disk is full. The operator can check with `podman system df` and free space with `podman image prune`.")
	// ErrNoKeys: the kernel's limit on keyrings, one per container of a user, is reached.
	ErrNoKeys = sentence.New(errors.New("no kernel keyring left"),
		"The host allows its user no more containers. Each needs a kernel keyring, and kernel.keys.maxkeys limits them. "+
			"The operator can raise it: run `sysctl kernel.keys.maxkeys=20000 kernel.keys.maxbytes=2000000`, and write both "+
			"into a file in /etc/sysctl.d.")
	// ErrNoFiles: the host refuses the limit on open files.
	ErrNoFiles = sentence.New(errors.New("the limit on open files is refused"),
		"This host does not allow the room's container so many open files. The operator can lower SANDBOX_NOFILE.")
	// ErrStuck: the container has not started a run in time, and was restarted.
	ErrStuck = sentence.New(errors.New("the container does not start a run"),
		"The room's container did not start the agent within a minute, so I restarted it. Processes that were running in "+
			"it have ended; files are still there. Send the task again. If this happens again, an owner can replace the "+
			"container with `!reset sandbox`.")
	// ErrLocked: a process in the container keeps runs from starting.
	ErrLocked = sentence.New(errors.New("runs are locked"),
		"A program that still runs in the room's container keeps me from starting the agent there. `!reset sandbox` "+
			"replaces the container; `/workspace` and `/root` stay.")
	// ErrExhausted: no process can be started in the container, because others have used up what it may have.
	ErrExhausted = sentence.New(errors.New("no process can be started in the container"),
		"Nothing can be started in the room's container any more: its processes have used up the limit (SANDBOX_PIDS). "+
			"`!reset sandbox` replaces the container; `/workspace` and `/root` stay.")
	// ErrNotEmpty: the room already has volumes.
	ErrNotEmpty = sentence.New(errors.New("the room already has volumes"),
		"A room in the backup already has volumes, which were left alone. Use -force to replace them.")
	// ErrNoSlot: all user ID ranges are in use.
	ErrNoSlot = sentence.New(errors.New("no user ID range left"),
		"This host has no free user ID range for another room. The operator can remove unused workspaces with `podman "+
			"volume rm`.")
)

// errStarting: another caller waits for the same container.
var errStarting = sentence.New(errors.New("the container is being started or removed"),
	"The room's container is just being started or removed, and that takes longer than usual. Try again later.")

// errHalfRemoved means that podman died while it removed the container: it is listed, but its files are gone, and
// podman cannot inspect or start it. It is of no use to any room.
var errHalfRemoved = sentence.New(errors.New("half-removed container"),
	"Podman was interrupted while it removed the room's container. The operator can remove the rest with `podman rm "+
		"--force`.")

// ErrForeign: the container has another room's label, or none.
var ErrForeign = fmt.Errorf("it does not belong to this room: %w", ErrNameTaken)

// IsGone reports whether an error says that a room has no container of that name: there is none, or it is not the
// room's.
func IsGone(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrForeign) }

// exhausted is how the kernel says that there can be no more processes.
const exhausted = "resource temporarily unavailable"

// texts maps parts of podman's error messages to kinds. The first match counts.
var texts = []struct {
	part string
	kind *sentence.Error
}{
	{"no such container", ErrNotFound},
	{"no container with name or ID", ErrNotFound},
	{"no such volume", ErrNotFound},

	{"container not known", errHalfRemoved}, // to containers/storage

	{"image not known", ErrImageMissing},
	{"no such image", ErrImageMissing},
	{"already in use", ErrNameTaken},
	{"already exists", ErrNameTaken},
	{"container state improper", ErrNotRunning},
	{"is not running", ErrNotRunning},
	{"is paused", ErrNotRunning},
	{exhausted, ErrExhausted},
	{"Resource temporarily unavailable", ErrExhausted},      // crun
	{"failed to create new OS thread", ErrExhausted},        // a Go program
	{"read init-p: connection reset by peer", ErrExhausted}, // runc
	{"cannot allocate memory", ErrOutOfMemory},
	{"out of memory", ErrOutOfMemory},
	{"no space left on device", ErrNoSpace},
	{"rlimit", ErrNoFiles},
	{"RLIMIT_NOFILE", ErrNoFiles},
	// runc; the reason that follows, "disk quota exceeded", is not about a disk
	{"unable to create session key", ErrNoKeys},
	{"create keyring", ErrNoKeys}, // crun
}

// kindOf returns the kind of an error from podman's bindings or its socket, or nil.
// Podman's typed errors do not survive the socket, so it matches their text.
func kindOf(err error) *sentence.Error {
	var connect bindings.ConnectError
	var op *net.OpError
	var model *errorhandling.ErrorModel
	switch {
	case errors.As(err, &model):
		if kind := kindIn(model.Because + "\n" + model.Message); kind != nil {
			return kind
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

// kindIn returns the kind of an error with this text, or nil.
func kindIn(text string) *sentence.Error {
	for _, t := range texts {
		if strings.Contains(text, t.part) {
			return t.kind
		}
	}
	return nil
}

// explain wraps an error with verb, object and kind.
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
