// Package sandbox manages one podman container per room: it creates, finds,
// enters and stops them. Work that runs in a container outlives the caller.
//
// A container's name is derived from the room ([NameFor]), and its label holds
// the room's ID. A container is never used for a room that is not on its label.
// What the room keeps, /workspace and /root, is in named volumes, so a container
// can be removed and created again without loss.
//
// What the bot wants in a container (a run, a command, a file) is an operation. Each
// has a connection that the container has offered ([Rooms.Offer]); if it offers none,
// a podman exec finds out why.
//
// The package talks to podman's service over its unix socket, and is the only
// importer of podman. It never runs the podman command, never touches a volume's
// directory from the host, uses the archive API only where nothing runs, and never puts a secret
// into a container.
package sandbox
