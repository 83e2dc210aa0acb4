package bot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/retry"
)

// directs holds the rooms that are direct chats, as in the account data m.direct.
type directs struct {
	mu    sync.Mutex
	users map[string][]string // rooms by user
}

// take replaces the list.
func (d *directs) take(users map[string][]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users = users
}

// with returns a copy of the list with a room added to a user; changed is false if
// the room is already there.
func (d *directs) with(user, room string) (users map[string][]string, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.users[user], room) {
		return nil, false
	}
	users = map[string][]string{}
	maps.Copy(users, d.users)
	users[user] = append(slices.Clone(users[user]), room)
	return users, true
}

// user returns the other member of a direct chat, or "" if the room is not one.
func (d *directs) user(room string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for user, rooms := range d.users {
		if slices.Contains(rooms, room) {
			return user
		}
	}
	return ""
}

// rooms returns the direct chats with users.
func (d *directs) rooms(users []string) (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, user := range users {
		all = append(all, d.users[user]...)
	}
	return all
}

// isDirect reports whether a room is a direct chat.
func (b *Bot) isDirect(room string) bool { return b.direct.user(room) != "" }

// loadDirects fetches the list of direct chats and retries until the homeserver
// answers. Afterwards /sync reports changes.
func (b *Bot) loadDirects(ctx context.Context) error {
	for again := retry.New(time.Second, 30*time.Second); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		users, err := b.account.Direct(call)
		cancel()
		if err == nil {
			b.direct.take(users)
			return nil
		}
		if !matrix.Transient(err) {
			if !matrix.IsNotFound(err) {
				b.log.Warn().Err(err).Msg("cannot read direct chats")
			}
			return nil
		}
		if err := again.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// markDirect adds a room to the direct chats with a user.
func (b *Bot) markDirect(ctx context.Context, user, room string) error {
	users, changed := b.direct.with(user, room)
	if !changed {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.account.SetDirect(call, users); err != nil {
		return fmt.Errorf("store direct chat: %w", err)
	}
	b.direct.take(users)
	return nil
}
