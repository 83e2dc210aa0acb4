// Package sandbox manages one podman container per room: it creates, finds,
// enters and stops them. Work that runs in a container outlives the caller.
//
// A container's name is derived from the room ([NameFor]), and its label holds
// the room's ID. A container is never used for a room that is not on its label.
// What the room keeps, /workspace and /root, is in named volumes, so a container
// can be removed and created again without loss.
//
// Commands and runs in a container share a process there, `boxinit attend`, which
// carries out one request after the other and ends 30 seconds after the last:
// a podman exec for each would take longer than most commands. It serves a
// connection that the container offers ([Podman.Offer]), or else a podman exec.
//
// The package talks to podman's service over its unix socket, and is the only
// importer of podman. It never runs the podman command, never touches a volume's
// directory from the host, uses the archive API only where nothing runs, and never puts a secret
// into a container.
package sandbox
