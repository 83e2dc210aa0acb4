// Package gateway is the only way out of a container that has no network: a unix socket in a directory of its room,
// which is mounted into the container. The path of the socket identifies the room.
//
// What listens on the socket is distinguished by the form of the request:
//
//   - Routes, each with everything below a path: see [Gateway.Route]. An agent has the way to its model there.
//   - Services of the bot, each at a path of its own (see [Gateway.Mount]): they learn which room asks, and nothing
//     that the container says about that. They are open only while a run is active.
//   - A connection that the container offers to the bot: see [Gateway.Attend].
//   - A proxy, for HTTP (absolute form) and for everything else (CONNECT). It reaches public addresses only.
//
// The gateway logs the kind, status and duration of a request and nothing else about it. The package knows nothing
// about podman, models or Matrix.
//
// The gateway may disappear at any moment (an update, a crash) and come back while a run continues in the container.
// Until then boxinit holds new connections.
package gateway
