package kube

import (
	"errors"
	"net/netip"
	"sync"
)

// Bounds of joined connections, a little above what the gateway serves at a time: some are always a room's own, and
// the rest of a room come out of what all rooms have in common.
const ownLines, maxLines, allLines = 20, 160, 640

var errTooMany = errors.New("the room has too many connections")

// lines counts the joined connections of each room.
type lines struct {
	mu     sync.Mutex
	of     map[string]int
	common int // of all rooms, those beyond a room's own
}

// enter reports whether the room may have one more connection, which lasts until leave.
func (l *lines) enter(room string) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := l.of[room]; {
	case n >= maxLines, n >= ownLines && l.common >= allLines:
		return nil, false
	case n >= ownLines:
		l.common++
	}
	l.of[room]++
	return func() { l.leave(room) }, true
}

func (l *lines) leave(room string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[room]--; l.of[room] >= ownLines {
		l.common--
	}
	if l.of[room] == 0 {
		delete(l.of, room)
	}
}

// sources counts the connections of each address.
type sources struct {
	mu sync.Mutex
	of map[netip.Addr]int
}

// enter reports whether the address may have one more connection, which lasts until leave.
func (s *sources) enter(from netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[from] == maxOfAddress {
		return false
	}
	s.of[from]++
	return true
}

func (s *sources) leave(from netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[from]--; s.of[from] == 0 {
		delete(s.of, from)
	}
}
