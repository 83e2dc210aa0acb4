package state

import (
	"context"
	"fmt"
	"slices"
)

// maxPackages bounds the packages of a room, and notes about others. A note is in parentheses.
const maxPackages = 300

// Of returns the packages that were installed in a container of the room that has been replaced, and that are to
// be installed in the new one.
func (s Packages) Of(room string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.now.packages[room])
}

// Add adds packages that are to be installed in the room's next container. A note replaces those beyond
// maxPackages.
func (s Packages) Add(ctx context.Context, room string, names []string) error {
	return s.update(ctx, func(c *contents) bool { return c.addPackages(room, names) }, room)
}

// Drop removes the room's packages: they are installed, or cannot be.
func (s Packages) Drop(ctx context.Context, room string) error {
	return s.update(ctx, func(c *contents) bool {
		_, had := c.packages[room]
		delete(c.packages, room)
		return had
	}, room)
}

func (c *contents) addPackages(room string, names []string) bool {
	all := slices.Concat(c.packages[room], names)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxPackages {
		all = append(all[:maxPackages-1], fmt.Sprintf("(%d more)", len(all)-maxPackages+1))
	}
	if slices.Equal(all, c.packages[room]) {
		return false
	}
	c.packages[room] = all
	return true
}
