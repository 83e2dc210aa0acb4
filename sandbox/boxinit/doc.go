// Package boxinit is the program inside every container: PID 1, and the commands that
// start, follow, stop and remove a run.
//
// As PID 1 it reaps orphans and forwards a loopback port to the gateway's socket. Each
// run has its own supervisor, which outlives the process that started the run; its
// output and exit status are kept in files until they are removed.
//
// The package uses only the standard library and x/sys and is linked statically. It
// never opens the network, never reads a task, and never keeps a secret.
package boxinit
