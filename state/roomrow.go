package state

import (
	"context"
	"maps"
	"slices"
)

// row returns what is known of a room.
func (c *contents) row(room string) Room {
	return Room{
		ID: room, Container: c.containers[room], Session: c.sessions[room], Reset: c.resets[room],
		Volumes: c.volumes[room], Successor: c.successors[room], Packages: c.packages[room], History: c.history[room],
	}
}

// add takes a row into the contents.
func (c *contents) add(r Room) {
	put(c.containers, r.ID, r.Container)
	put(c.sessions, r.ID, r.Session)
	put(c.resets, r.ID, r.Reset)
	put(c.volumes, r.ID, r.Volumes)
	put(c.successors, r.ID, r.Successor)
	if len(r.Packages) > 0 {
		c.packages[r.ID] = r.Packages
	}
	if len(r.History) > 0 {
		c.history[r.ID] = r.History
	}
}

// contentsOf returns what the journal knows of the rooms, or nil if that was never written there.
func contentsOf(ctx context.Context, j *Journal) (*contents, error) {
	rows, filled, err := j.rooms(ctx)
	if err != nil || !filled {
		return nil, err
	}
	c := newContents()
	for _, r := range rows {
		c.add(r)
	}
	return c, nil
}

// rooms returns every room of which something is known.
func (c *contents) rooms() map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]string{c.containers, c.sessions, c.resets, c.volumes, c.successors} {
		for room := range m {
			all[room] = true
		}
	}
	for _, room := range slices.Concat(slices.Collect(maps.Keys(c.packages)), slices.Collect(maps.Keys(c.history))) {
		all[room] = true
	}
	return all
}
