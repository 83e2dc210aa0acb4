package state

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash returns a short name for a string: 20 hexadecimal digits.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// KeyOf returns the key of an event's task, which names its runs and messages. It is always the same for an event.
func KeyOf(room, event string) string { return Hash(room + "\x00" + event) }

// Asker returns the user ID of the requester, or "" for a task from HTTP.
func (t Task) Asker() string {
	if t.Source == FromHTTP {
		return ""
	}
	return t.Requester
}

// Moved reports whether no message in the task's room requested it: it was requested in a predecessor, or was due.
func (t Task) Moved() bool { return t.Home != t.Room || t.Source == FromSchedule }
