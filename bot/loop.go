package bot

import (
	"time"

	"matrix-tui/state/event"
)

const (
	// loopRounds is how many messages somebody may send, one after the other, each within loopGap of the answer to the one
	// before, until the bot takes it for another bot that answers everything.
	loopRounds = 6
	loopGap    = 5 * time.Second
	// loopPause is how long such a sender has to be silent to be heard again.
	loopPause = 10 * time.Minute
)

// loop notices that the bot and somebody else in a room only answer each other. It is used under the room's mu, and by
// the clock of this host.
type loop struct {
	sender   string    // of the newest message
	rounds   int       // quick ones in a row
	answered time.Time // when the bot last answered the sender
	heard    time.Time // when the newest message came
}

// next counts a message. It reports whether the message is part of a loop, and whether the room has to be told.
func (l *loop) next(sender string, now time.Time) (looped, tell bool) {
	quick := sender == l.sender && !l.answered.IsZero() && now.Sub(l.answered) < loopGap
	paused := sender == l.sender && l.rounds >= loopRounds && now.Sub(l.heard) < loopPause
	l.sender, l.heard = sender, now
	switch {
	case paused:
		return true, false
	case !quick:
		l.rounds = 0
		return false, false
	}
	l.rounds++
	l.answered = time.Time{}
	return l.rounds >= loopRounds, l.rounds == loopRounds
}

// answer notes that the bot has answered.
func (l *loop) answer(now time.Time) { l.answered = now }

// inLoop reports whether a message that could be a task is part of a loop with another bot. Owners are people, and so is
// whoever writes !task.
func (r *room) inLoop(e event.Event) (looped, tell bool) {
	m, _ := e.Message()
	_, _, command := parseCommand(taskText(m))
	r.mu.Lock()
	defer r.mu.Unlock()
	if command || r.bot.isOwner(e.Sender) {
		r.loop = loop{}
		return false, false
	}
	return r.loop.next(e.Sender, time.Now())
}
