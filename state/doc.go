// Package state keeps what a restart needs:
//
//   - state.json (Store): which container belongs to which room, the
//     conversations, and the executions of tasks,
//   - journal.db (Journal): the sync token with the events it covers, the tasks
//     that some events became, and outgoing messages,
//   - transcripts (Transcripts): every turn of every task, line by line.
//
// It knows nothing about Matrix or podman: rooms, events and containers are
// strings, and contents are JSON that it passes through. It never logs message
// text or a token, never overwrites a file it cannot read, and returns from a
// change only when the change is on disk. Every call can be repeated after a
// crash at any point without doing its work twice.
package state
