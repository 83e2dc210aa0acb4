package bot

import (
	"crypto/sha256"
	"encoding/hex"

	"matrix-tui/state"
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

// hash is a short name for a longer one.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// taskKey names what belongs to a row: its runs and its messages. The same
// row has the same key in each life of the bot.
func taskKey(row state.Inbound) string { return hash(row.Room + "\x00" + row.Event) }
