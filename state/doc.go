// Package state keeps what a restart needs:
//
//   - journal.db (Journal): the sync token with the events it covers, the tasks that some events became, outgoing
//     messages, and what is known of each room (Store): its container, conversation, agent session and packages,
//   - state.json: a projection of the rooms' containers and conversations, for people and for the loss of the journal,
//   - journal.db.snapshot: a copy that takes the place of a damaged journal,
//   - transcripts (Transcripts): every turn of every task, line by line.
//
// It knows nothing about Matrix or podman: rooms, events and containers are
// strings, and contents are JSON that it passes through. It never logs message
// text or a token, never overwrites a file it cannot read, and returns from a
// change only when the change is on disk. Every call can be repeated after a
// crash at any point without doing its work twice.
package state
