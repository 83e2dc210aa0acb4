package state

// maxUpgrades bounds how many upgrades of a room are followed.
const maxUpgrades = 100

// SuccessorOf returns the room that continues this one after all its upgrades: itself, if there was none.
func (s *Store) SuccessorOf(room string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range maxUpgrades {
		next := s.now.successors[room]
		if next == "" {
			break
		}
		room = next
	}
	return room
}

// Predecessors returns the rooms that this one continues, the newest first.
func (s *Store) Predecessors(room string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(all) < maxUpgrades {
		before := ""
		for from, to := range s.now.successors {
			if to == room && from > before { // one, unless somebody has named this room for two
				before = from
			}
		}
		if before == "" {
			break
		}
		all, room = append(all, before), before
	}
	// An older release noted only the first room.
	if first := s.now.volumesOf(room); first != room && len(all) < maxUpgrades {
		all = append(all, first)
	}
	return all
}
