// Package state keeps what a restart needs: state.json (Store: which container
// belongs to which room, what was said there, the executions of its tasks),
// journal.db (Journal: the sync token with the events it covers, and the
// messages on their way out) and the transcripts (Transcripts: every turn of
// every task, line by line).
//
// It knows neither Matrix nor podman: rooms, events and containers are strings
// to it, and contents are JSON that it passes through. It never logs a message
// text or a token, never overwrites a file that it cannot read, and returns
// from a change only when the change is on the disk. Each call can be repeated
// after a crash at any point without doing its work twice.
package state
