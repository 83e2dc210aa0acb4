package sandbox

// Error is one of this package's few kinds of failure. Its Sentence can be shown
// to a person as it stands.
type Error struct{ text, sentence string }

// Error returns the short technical text.
func (e *Error) Error() string { return e.text }

// Sentence tells a person what is wrong and what mends it.
func (e *Error) Sentence() string { return e.sentence }

// Kinds of failure; compare with errors.Is.
var (
	// ErrNotFound: no such container, or no such file in the box.
	ErrNotFound = &Error{"not found", "There is no such container or file; send the task again and the room's container is made anew."}
	// ErrNameTaken: the container of that name belongs to somebody else.
	ErrNameTaken = &Error{"name is taken by a foreign container", "A container that is not this room's has the room's container name. The operator can look at it with `podman ps -a --filter label=io.matrix-tui.room` and rename or remove the foreign one."}
	// ErrUnreachable: podman's service does not answer.
	ErrUnreachable = &Error{"podman is unreachable", "Podman does not answer. The operator can start it with `systemctl start podman.socket` (rootless: `systemctl --user start podman.socket`) and check CONTAINER_HOST."}
	// ErrImageMissing: the image is not on this host.
	ErrImageMissing = &Error{"image is missing", "The sandbox image is not on this host. The operator can build it with `./deploy/image/build`, or set SANDBOX_IMAGE to one that `podman images` shows."}
	// ErrOutOfMemory: the host or the box has no memory left.
	ErrOutOfMemory = &Error{"out of memory", "There was not enough memory. A smaller task may work; the operator can raise SANDBOX_MEMORY or free memory on the host."}
)
