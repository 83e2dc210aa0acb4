// Package media brings files into a container and out of it: files that people send to
// a room go to /workspace/inbox, and files that the agent leaves in /workspace/outbox
// are sent after the task.
//
// It trusts neither side. A message's claims about its file (name, size, type) are
// hints for people. A container may return any bytes, because the agent can replace the
// programs in it. So all limits are enforced on this side: how much is read, how long
// it takes, what a name looks like. The contents of the two folders are limited too,
// see prune.go; there a container can cheat, at the expense of its own disk.
package media

// The two folders, as the agent sees them.
const (
	InboxDir  = "/workspace/inbox"
	OutboxDir = "/workspace/outbox"
)
