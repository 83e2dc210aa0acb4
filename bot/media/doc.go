// Package media brings files into a container and out of it: what people send in a
// room goes to /workspace/inbox, what the agent leaves in /workspace/outbox is
// sent after the task.
//
// Nothing that comes from either side is believed. A message's claims about its
// file (name, size, type) are hints for people; a container may give any bytes for an
// answer, for the programs in it are the agent's to replace. So each bound is
// kept on this side: how much is read, how long it takes, what a name looks like.
// What stays in the two folders is bounded too, see prune.go; that a container may cheat
// about, with its own disk.
package media

// The two folders, as the agent sees them.
const (
	InboxDir  = "/workspace/inbox"
	OutboxDir = "/workspace/outbox"
)
