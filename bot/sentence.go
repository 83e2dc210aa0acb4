package bot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"matrix-tui/state"
)

// sentence is what a person in the room is told of an error: its own sentence
// where it has one, else an ID that the log has too.
func (b *Bot) sentence(err error) string {
	var said interface {
		error
		Sentence() string
	}
	if errors.As(err, &said) {
		b.log.Warn().Err(err).Msg("told the room")
		return said.Sentence()
	}
	var id [4]byte
	_, _ = rand.Read(id[:])
	name := hex.EncodeToString(id[:])
	b.log.Error().Err(err).Str("error_id", name).Msg("internal error")
	return "Something went wrong on my side (internal error " + name + "; the operator finds it in the log)."
}

// hash is a short name for a longer one.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// taskKey names what belongs to a row: its runs and its messages. The same
// row has the same key in each life of the bot.
func taskKey(row state.Inbound) string { return hash(row.Room + "\x00" + row.Event) }
