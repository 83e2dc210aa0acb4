package timeline

import (
	"slices"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// clearUntil returns the index of the first of a room's new events that must be
// encrypted: everything after the event that enabled encryption, or everything
// if encryption was enabled before. before and now report whether the room was
// known to be encrypted before and after the batch.
func clearUntil(before, now bool, events []event.Event) int {
	if before {
		return 0
	}
	for i, e := range events {
		if enablesEncryption(e) {
			return i
		}
	}
	if now { // enabled by an event that is not in this list
		return 0
	}
	return len(events)
}

// gapEncrypted says which events of the gap before a timeline must be encrypted: see
// clearUntil.
func gapEncrypted(before, now bool, timeline []event.Event) state.Encrypted {
	switch {
	case before:
		return state.EncryptedAll
	case now && !slices.ContainsFunc(timeline, enablesEncryption):
		return state.EncryptedLater
	}
	return state.EncryptedNever
}

func enablesEncryption(e event.Event) bool { return e.IsState(event.TypeEncryption) }
