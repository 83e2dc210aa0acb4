// Package gateway is the one door that a container without a network has to the world: a unix socket in a directory of
// the room's own, which is mounted into the container. The path of the socket says which room asks.
//
// Behind the socket are two services, told apart by the form of the request:
//
//   - The model route, /model/…: requests to the Gemini API, with the API key put in on this side. Only models are
//     listed, asked, counted and embedded; all other methods of the API are refused.
//   - A proxy for HTTP (absolute form) and for everything else (CONNECT), which reaches public addresses only.
//
// The key never goes into the container: not in an answer, not in an error, not in a header. Nothing of a request is
// logged but its kind, its status and its duration. The package knows neither podman nor Matrix.
//
// The gateway can go away at any moment (an update, a crash) and come back while a run goes on in the container. New
// connections are held in the container until then. An answer that was streaming is retried by Gemini CLI, because such
// answers end with their connection: cut, they look to the CLI like a model that stopped too early, while the end
// of a chunked answer in its middle would end the run (measured with 0.61.0).
package gateway
