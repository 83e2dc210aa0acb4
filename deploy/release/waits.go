package release

import (
	"fmt"
	"os"
	"time"
)

// readyTime is how long a new release has to become ready, not counting the time that it waits for the homeserver.
const readyTime = 60 * time.Second

// waitTime is how long a new release may wait for the homeserver.
const waitTime = 30 * time.Minute

// waitingFile was last changed when a new release last waited for the homeserver.
func (b Base) waitingFile() string { return b.path("update.waiting") }

// Waits tells the watcher that the new release still waits for the homeserver. Call it every few seconds meanwhile.
func (b Base) Waits() error {
	if err := os.WriteFile(b.waitingFile(), []byte("waiting\n"), 0o600); err != nil {
		return fmt.Errorf("tell the watcher: %w", err)
	}
	return nil
}

// late says why a new release has taken too long to become ready; "" if it has not.
func (b Base) late(r Record, now time.Time) string {
	info, err := os.Stat(b.waitingFile())
	if err != nil || info.ModTime().Before(r.Switched) {
		if now.Sub(r.Switched) > readyTime {
			return fmt.Sprintf("It was not ready within %d seconds.", int(readyTime.Seconds()))
		}
		return ""
	}
	switch {
	case now.Sub(info.ModTime()) > readyTime:
		return fmt.Sprintf("It was not ready within %d seconds after it had waited for the homeserver.", int(readyTime.Seconds()))
	case now.Sub(r.Switched) > waitTime:
		return fmt.Sprintf("It was still waiting for the homeserver after %d minutes.", int(waitTime.Minutes()))
	}
	return ""
}
