package state

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"matrix-tui/state/sentence"
)

// schemaVersion is the version of the tables in schema.sql, stored in user_version.
const schemaVersion = 13

//go:embed schema.sql
var schema string

// prepare creates the tables of a new journal, or imports those of an earlier release, in one transaction.
func (j *Journal) prepare(ctx context.Context) error {
	version, err := j.version(ctx)
	if err != nil || version == schemaVersion {
		return err
	}
	return j.inTx(ctx, func(tx *sql.Tx) error {
		if version > 0 {
			err = importTables(ctx, tx, version)
		} else {
			j.fresh = true
			err = run(ctx, tx, schema)
		}
		if err != nil {
			return err
		}
		return run(ctx, tx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	})
}

// version returns the version of the journal's tables: 0 if there are none, or one that this release can read or
// import.
func (j *Journal) version(ctx context.Context) (version int, err error) {
	if err := j.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	switch {
	case version < 0 || version > schemaVersion:
		return 0, sentence.Newf(fmt.Errorf("schema %d of %s: %w", version, j.path, ErrNewer),
			"%s was written by a newer matrix-tui: run that release, or move the file away to start with an empty one.", j.path)
	case version > 0 && version < oldestSchema, version == 10, version == 11:
		return 0, sentence.Newf(fmt.Errorf("schema %d of %s: %w", version, j.path, ErrOlder),
			"%s was written by a build that this release cannot import: move the file away to start with an empty one.", j.path)
	}
	return version, nil
}
