// Package sandbox manages one podman container per room: it creates, finds,
// enters and stops them. Work that runs in a container outlives the caller.
//
// A container's name is derived from the room ([NameFor]), and its label holds
// the room's ID. A container is never used for a room that is not on its label.
// What the room keeps, /workspace and /root, is in named volumes, so a container
// can be removed and created again without loss.
//
// The package talks to podman's service over its unix socket, and is the only
// importer of podman. It never runs the podman command, never touches a volume's
// directory from the host, never uses the archive API, and never puts a secret
// into a container.
package sandbox
