// Package media moves files between rooms and containers: files that people send go to /workspace/inbox, and files that
// the agent leaves in /workspace/outbox are sent after the task.
//
// Neither side is trusted. What a message says about its file (name, size, type) is only a hint for people. A container
// may return any bytes, because the agent can replace the programs in it. So every limit is enforced on this side: how
// much is read, how long it takes, what a name may look like. The size of the two folders is limited too (prune.go);
// only there a container can cheat, and it can only fill its own disk.
package media

// The two folders, as the agent sees them.
const (
	InboxDir  = "/workspace/inbox"
	OutboxDir = "/workspace/outbox"
)
