// Package boxinit is the program inside every container: PID 1, the process that
// carries out the bot's operations, and the supervisors of runs.
//
// As PID 1 it reaps orphans and forwards a loopback port to the gateway's socket.
// Each run has its own supervisor, which outlives whoever started the run. The
// run's output and exit status stay in files until they are removed. A run can be
// parked: it is started, and gets its input later.
//
// A child of PID 1 keeps a connection to the gateway open, on which the bot can ask
// for one operation: to start a run, follow, stop or remove one, execute a command,
// read or write a file. When the bot does, the child opens the next one.
//
// The package uses only the standard library and x/sys, and is linked statically.
// It stores no secret, and opens no network connection, except to find out whether
// the network of a pod is closed.
package boxinit
