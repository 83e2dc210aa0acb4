package memory

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strings"
)

// Entries returns the entries of a hit, by its ID; none if there is no such hit.
func (x *Index) Entries(ctx context.Context, id string) (all []Entry, err error) {
	key, err := hex.DecodeString(strings.TrimSpace(id))
	if err != nil || len(key) == 0 {
		return nil, nil
	}
	err = x.inTx(ctx, func(tx *sql.Tx) (err error) {
		all, err = newWriter(ctx, tx).entries("SELECT first, last, entry.time, speaker, text, event FROM entry JOIN chunk ON chunk.id = entry.chunk WHERE key = ?", key)
		return err
	})
	return all, x.failed("look up entry", err)
}
