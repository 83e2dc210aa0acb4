// Package host runs what a test of the bot needs around it: a homeserver, a podman service, and other programs.
// Everything it starts dies with the test's process. It never runs the bot and knows nothing about it except the names
// of its containers' volumes.
package host
