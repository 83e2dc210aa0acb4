// Package boxinit is the program inside every container: PID 1, the process that
// carries out the bot's requests, and the small commands that start, follow, stop
// and remove a run.
//
// As PID 1 it reaps orphans and forwards a loopback port to the gateway's socket.
// Each run has its own supervisor, which outlives whoever started the run. The
// run's output and exit status stay in files until they are removed.
//
// The package uses only the standard library and x/sys, and is linked statically.
// It never opens a network connection, reads a task or stores a secret.
package boxinit
