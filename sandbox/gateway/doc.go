// Package gateway is the only way out of a container, which has no network: a unix
// socket in a directory of the room, mounted into the container. The socket's path
// identifies the room.
//
// Two services listen on the socket, distinguished by the form of the request:
//
//   - The model route, /model/…: requests to the Gemini API. The gateway adds the API key. It allows only listing
//     models, generating content, counting tokens and embedding.
//   - A proxy for HTTP (absolute form) and for everything else (CONNECT). It reaches public addresses only.
//
// The key never enters the container: not in an answer, an error or a header. Of a
// request, only its kind, status and duration are logged. The package knows neither
// podman nor Matrix.
//
// The gateway may go away at any moment (an update, a crash) and come back while a run
// continues in the container. Until then boxinit holds new connections. Gemini CLI
// retries an interrupted streaming answer, because such answers end with their
// connection: a cut looks to the CLI like a model that stopped too early, whereas a
// truncated chunked answer would end the run (measured with 0.61.0).
package gateway
