package bot

import (
	"matrix-tui/state/sentence"
)

// sentence is what a person in the room is told of an error: its own sentence
// where it has one, else an ID that the log has too.
func (b *Bot) sentence(err error) string {
	said, id := sentence.Tell(err)
	if id == "" {
		b.log.Warn().Err(err).Msg("told the room")
	} else {
		b.log.Error().Err(err).Str("error_id", id).Msg("internal error")
	}
	return said
}
