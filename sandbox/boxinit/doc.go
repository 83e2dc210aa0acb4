// Package boxinit is the program inside every container: PID 1, and the small commands
// that start, follow, stop and remove a run.
//
// As PID 1 it reaps orphans and forwards a loopback port to the gateway's socket.
// A run is started under a supervisor of its own that outlives whoever asked for
// it; what it printed and how it ended lie in files until they are removed.
//
// The package uses the standard library and x/sys only and is linked statically.
// It never opens the network, never reads a task, and never keeps a secret.
package boxinit
