package roster

import (
	"maps"
	"slices"
	"sync"
)

// Directs holds the rooms that are direct chats, as in the account data m.direct.
type Directs struct {
	mu    sync.Mutex
	users map[string][]string // rooms by user
}

// Take replaces the list.
func (d *Directs) Take(users map[string][]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users = users
}

// With returns a copy of the list with a room added to a user; changed is false if
// the room is already there.
func (d *Directs) With(user, room string) (users map[string][]string, changed bool) {
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

// User returns the other member of a direct chat, or "" if the room is not one.
func (d *Directs) User(room string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for user, rooms := range d.users {
		if slices.Contains(rooms, room) {
			return user
		}
	}
	return ""
}

// Rooms returns the direct chats with users.
func (d *Directs) Rooms(users []string) (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, user := range users {
		all = append(all, d.users[user]...)
	}
	return all
}
