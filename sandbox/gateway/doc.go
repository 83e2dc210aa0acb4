// Package gateway is the only way out of a container that has no network: a unix socket in a directory of its room,
// which is mounted into the container. The path of the socket identifies the room.
//
// What listens on the socket is distinguished by the form of the request:
//
//   - The model route, /model/…: requests to the Gemini API, with the API key added on this side. Only listing models,
//     generating, counting tokens and embedding are allowed; every other method of the API is refused. The route is open
//     only while a run of the room is active (see [Gateway.Begin]), for the model of that run, and for tools that run at
//     the provider only if they are configured: they are billed per use.
//   - Services of the bot, each at a path of its own (see [Gateway.Mount]): they learn which room asks, and nothing that
//     the container says about that. They too are open only while a run is active.
//   - A connection that the container offers to the bot: see [Gateway.Attend].
//   - A proxy, for HTTP (absolute form) and for everything else (CONNECT). It reaches public addresses only.
//
// The key never reaches the container: not in an answer, not in an error, not in a header. The gateway logs the kind,
// status and duration of a request and nothing else about it. The package knows nothing about podman or Matrix.
//
// The gateway may disappear at any moment (an update, a crash) and come back while a run continues in the container.
// Until then boxinit holds new connections. Gemini CLI retries a streaming answer that was cut, because such answers end
// with their connection: a cut looks to the CLI like a model that stopped too early. If a chunked answer ended in the
// middle, the run would end (measured with 0.61.0).
package gateway
