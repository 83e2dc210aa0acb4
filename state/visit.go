package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"matrix-tui/state/event"
)

// Visits are who may sign in to the page, and the sessions there. Codes and sessions are stored as hashes.
type Visits struct{ *core }

const (
	maxSessions = 10 // of one person: the one that ends first makes room
	maxTries    = 5  // with wrong numbers, after which a code is withdrawn
)

// Visitor is a person on the page.
type Visitor struct {
	User string `json:"user"`
	// Proof is how the message was protected that had the code: what its sender does on the page is as well proven.
	Proof event.Encryption `json:"proof,omitempty"`
	Until time.Time        `json:"until"`

	Number string `json:"number,omitempty"` // that the bot has told the person, who enters it in the browser
	Tries  int    `json:"tries,omitempty"`  // with other numbers
}

// Rows of the table meta: marks, followed by a hash, and a key.
const (
	admittedMark = "admitted "
	sessionMark  = "session "
	queryVisits  = "SELECT key, value FROM meta WHERE key > ?1 AND key < ?1 || 'g'" // hashes are hexadecimal
	queryVisitor = "SELECT key, value FROM meta WHERE key = ?"
	setVisitor   = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
	removeVisit  = "DELETE FROM meta WHERE key = ?"
	makeKey      = "INSERT INTO meta (key, value) VALUES ('page key', ?) ON CONFLICT DO NOTHING"
	queryKey     = "SELECT value FROM meta WHERE key = 'page key'"
)

// Key returns the secret with which the page makes its codes. It is made once.
func (j *Visits) Key(ctx context.Context) (string, error) {
	key, err := value[string](ctx, j.core, "read key of the page", queryKey)
	if key != "" || err != nil {
		return key, err
	}
	if err := j.exec(ctx, "store key of the page", makeKey, rand.Text()); err != nil {
		return "", err
	}
	return value[string](ctx, j.core, "read key of the page", queryKey)
}

// Admit lets the browser that shows a code sign in as a person. It takes the place of the person's earlier codes.
func (j *Visits) Admit(ctx context.Context, code string, v Visitor, now time.Time) error {
	return j.change(ctx, "admit visitor", func(tx *sql.Tx) error {
		if err := trimVisits(ctx, tx, admittedMark, v.User, 0, now); err != nil {
			return err
		}
		return addVisit(ctx, tx, admittedMark, code, v)
	})
}

// Enter begins a session until a time for a code, which is used up. It returns ErrNotFound if nobody is admitted with
// that code and number, or no longer.
func (j *Visits) Enter(ctx context.Context, code, number, session string, now, until time.Time) error {
	entered := false
	err := j.change(ctx, "sign in", func(tx *sql.Tx) error {
		v, err := visitor(ctx, tx, admittedMark, code, now)
		if err != nil {
			return err
		}
		if v.Tries++; v.Number != number && v.Tries < maxTries {
			return addVisit(ctx, tx, admittedMark, code, v)
		}
		if err := run(ctx, tx, removeVisit, visitKey(admittedMark, code)); err != nil || v.Number != number {
			return err
		}
		if err := trimVisits(ctx, tx, sessionMark, v.User, maxSessions-1, now); err != nil {
			return err
		}
		entered = true
		return addVisit(ctx, tx, sessionMark, session, Visitor{User: v.User, Proof: v.Proof, Until: until})
	})
	if err == nil && !entered {
		err = ErrNotFound
	}
	return err
}

// Of returns whose session it is, or ErrNotFound.
func (j *Visits) Of(ctx context.Context, session string, now time.Time) (Visitor, error) {
	v, err := visitor(ctx, j.db, sessionMark, session, now)
	return v, j.failed("look up session", err)
}

// Leave ends a session.
func (j *Visits) Leave(ctx context.Context, session string) error {
	return j.exec(ctx, "sign out", removeVisit, visitKey(sessionMark, session))
}

// LeaveAll ends all sessions of a person, and withdraws the codes.
func (j *Visits) LeaveAll(ctx context.Context, user string, now time.Time) error {
	return j.change(ctx, "sign out everywhere", func(tx *sql.Tx) error {
		return errors.Join(trimVisits(ctx, tx, admittedMark, user, 0, now), trimVisits(ctx, tx, sessionMark, user, 0, now))
	})
}

func visitKey(mark, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return mark + hex.EncodeToString(sum[:])
}

// visit is a row.
type visit struct {
	key string
	Visitor
}

func scanVisit(row scanner) (v visit, err error) {
	var text string
	if err := row.Scan(&v.key, &text); err != nil {
		return v, err
	}
	return v, readJSON(text, &v.Visitor)
}

func visitor(ctx context.Context, db queryer, mark, secret string, now time.Time) (Visitor, error) {
	v, err := queryOne(ctx, db, scanVisit, queryVisitor, visitKey(mark, secret))
	if err == nil && !now.Before(v.Until) {
		err = ErrNotFound
	}
	return v.Visitor, err
}

func addVisit(ctx context.Context, tx *sql.Tx, mark, secret string, v Visitor) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return run(ctx, tx, setVisitor, visitKey(mark, secret), string(text))
}

// trimVisits removes what has ended, and all but a number of a person's own.
func trimVisits(ctx context.Context, tx *sql.Tx, mark, user string, keep int, now time.Time) error {
	all, err := queryAll(ctx, tx, scanVisit, queryVisits, mark)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b visit) int { return cmp.Compare(b.Until.UnixMilli(), a.Until.UnixMilli()) })
	for _, v := range all {
		if v.User == user && now.Before(v.Until) {
			keep--
		}
		if now.Before(v.Until) && (v.User != user || keep >= 0) {
			continue
		}
		if err := run(ctx, tx, removeVisit, v.key); err != nil {
			return err
		}
	}
	return nil
}
