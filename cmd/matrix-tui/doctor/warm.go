package doctor

import (
	"matrix-tui/bot/text"
	"matrix-tui/cmd/matrix-tui/settings"
)

// warmMemory is what a waiting agent takes at most, in bytes: 145 to 166 MB were measured.
const warmMemory = 170 << 20

// checkWarm says in how many rooms agents wait for the next task. Suits is how many the host's memory suits.
func checkWarm(setting *settings.Agents, suits int) finding {
	most := setting.Or(suits)
	takes := text.Size(int64(most) * warmMemory)
	switch {
	case most == 0 && setting == nil:
		return good("waiting agents: none, because the host has little memory: each task starts its agent, which takes a " +
			"second or two")
	case most == 0:
		return good("waiting agents: none (WARM_AGENTS)")
	case most > suits:
		return good("waiting agents: in up to %d rooms (WARM_AGENTS), which takes up to %s of memory; the host's memory "+
			"suits %d", most, takes, suits)
	}
	return good("waiting agents: in up to %d rooms, which takes up to %s of memory", most, takes)
}
