package recall

import (
	"crypto/sha256"
	"encoding/hex"
)

// executionPath names what was done for a task.
func executionPath(id string) string { return "execution/" + id }

// conversationPath names what was said in a task, also when it is read from a transcript.
func conversationPath(room, event string) string {
	sum := sha256.Sum256([]byte(room + "\x00" + event))
	return "conversation/" + hex.EncodeToString(sum[:8])
}
