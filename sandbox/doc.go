// Package sandbox manages one podman container per room: it creates, finds, starts and
// stops containers and runs commands in them. Runs in a container outlive the caller.
//
// A container's name is derived from the room ([NameFor]) and its label holds the room
// ID. A container is never used for a room that is not on its label. A room's work,
// /workspace and /root, is in named volumes, so a container can be removed and
// recreated without loss.
//
// The package talks to podman's service over its unix socket and is the only package
// that imports podman. It never runs the podman command, never touches a volume's
// directory on the host, never uses the archive API, and never puts a secret into a
// container.
package sandbox
