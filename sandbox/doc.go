// Package sandbox keeps one podman container for each room: it is made, found,
// entered and stopped here, and work that runs in it outlives the caller.
//
// A container is called a container. Its name is derived from the room ([NameFor]),
// its label says whose it is, and a container is never used for a room that is not on
// its label. What the room keeps, /workspace and /root, lies in named volumes,
// so a container can be thrown away and made again without loss.
//
// The package talks to podman's service over its unix socket and is the only
// importer of podman. It never runs the podman command, never touches a
// volume's directory from the host, never uses the archive API, and never puts
// a secret into a container.
package sandbox
