package bot

import (
	"context"
	"fmt"
	"time"
)

// orphanTime is how long a homeserver may take for a request whose sender has died. Dendrite v0.15.2 goes on with it, forgets
// its transaction ID, and takes the same message once more: in half of the cases if the sender dies within 6 ms.
const orphanTime = 2 * time.Second

// inheritUnsent notes the rooms in which the process before this one may have been sending a message when it ended.
func (b *Bot) inheritUnsent(ctx context.Context) error {
	rooms, err := b.Journal.UnsentRooms(ctx)
	if err != nil {
		return fmt.Errorf("list rooms with unsent messages: %w", err)
	}
	for _, name := range rooms {
		b.room(name).outbox.inherits.Store(true)
	}
	return nil
}
