package container

import "sync"

// vacancy keeps a room's container from coming back while it is being removed: the agent that waits for the next task
// is started in the background.
type vacancy struct {
	mu   sync.Mutex // held while an agent is parked, and while the container goes
	left bool       // the bot is not in the room: nothing is parked there
}

// Vacate calls remove, which stops or removes the room's container, and lets no agent be started in the room meanwhile.
// The one that waits there ends with the container.
func (s *Sandbox) Vacate(remove func() error) error {
	s.vacancy.mu.Lock()
	defer s.vacancy.mu.Unlock()
	s.shared.Warm.Forget(s.room)
	return remove()
}

// Leave is Vacate when the bot is not in the room any more. No agent is started there until Enter.
func (s *Sandbox) Leave(remove func() error) error {
	return s.Vacate(func() error {
		s.vacancy.left = true
		return remove()
	})
}

// Enter says that the bot is in the room again.
func (s *Sandbox) Enter() {
	s.vacancy.mu.Lock()
	defer s.vacancy.mu.Unlock()
	s.vacancy.left = false
}
