package e2ee

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// rooms stores each room's encryption settings and members. It implements mautrix's
// crypto.StateStore.
type rooms struct{ db *dbutil.Database }

// how returns a room's encryption settings. known is false if they were never
// fetched; content is nil if the room is not encrypted.
func (r *rooms) how(ctx context.Context,
	room id.RoomID) (content *event.EncryptionEventContent, known bool, err error) {
	var raw sql.NullString
	err = r.db.QueryRow(ctx, "SELECT encryption FROM e2ee_room WHERE room=$1", room).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read encryption of room: %w", err)
	}
	if raw.String == "" {
		return nil, raw.Valid, nil
	}
	return encryption(json.RawMessage(raw.String)), true, nil
}

// encryption parses the content of an m.room.encryption event. Even if it is
// malformed, the room counts as encrypted, possibly with an unsupported algorithm.
func encryption(raw json.RawMessage) *event.EncryptionEventContent {
	c := &event.EncryptionEventContent{}
	if json.Unmarshal(raw, c) != nil {
		c = &event.EncryptionEventContent{}
		var only struct {
			Algorithm id.Algorithm `json:"algorithm"`
		}
		_ = json.Unmarshal(raw, &only) // the other fields may be malformed
		c.Algorithm = only.Algorithm
	}
	return c
}

// IsEncrypted is part of crypto.StateStore.
func (r *rooms) IsEncrypted(ctx context.Context, room id.RoomID) (bool, error) {
	c, _, err := r.how(ctx, room)
	return c != nil, err
}

// GetEncryptionEvent is part of crypto.StateStore.
func (r *rooms) GetEncryptionEvent(ctx context.Context, room id.RoomID) (*event.EncryptionEventContent, error) {
	c, _, err := r.how(ctx, room)
	return c, err
}

// GetHistoryVisibility is part of crypto.StateStore. It knows none, so that our keys are not marked as ones that
// members may pass on to people who join later (MSC4268): nobody has agreed to that.
func (r *rooms) GetHistoryVisibility(context.Context, id.RoomID) (*event.HistoryVisibilityEventContent, error) {
	return nil, nil
}

// FindSharedRooms is part of crypto.StateStore. It returns a user's encrypted rooms.
func (r *rooms) FindSharedRooms(ctx context.Context, user id.UserID) ([]id.RoomID, error) {
	rows, err := r.db.Query(ctx, `SELECT m.room FROM e2ee_member m JOIN e2ee_room r ON r.room = m.room
		WHERE m.user=$1 AND m.membership IN ('join', 'invite') AND r.encryption <> ''`, user)
	return dbutil.NewRowIterWithError(rows, dbutil.ScanSingleColumn[id.RoomID], err).AsList()
}

// setEncryption stores a room's encryption settings. Encryption cannot be disabled,
// and Megolm cannot be replaced by another algorithm.
func (r *rooms) setEncryption(ctx context.Context, room id.RoomID, raw json.RawMessage) error {
	old, _, err := r.how(ctx, room)
	if err != nil {
		return err
	}
	if old != nil && old.Algorithm == id.AlgorithmMegolmV1 && encryption(raw).Algorithm != id.AlgorithmMegolmV1 {
		return nil
	}
	_, err = r.db.Exec(ctx, "INSERT INTO e2ee_room (room, encryption) VALUES ($1, $2) ON CONFLICT (room) DO UPDATE SET "+
		"encryption=excluded.encryption", room, string(raw))
	return err
}

// setClear records that the room is not encrypted, unless it is known to be.
func (r *rooms) setClear(ctx context.Context, room id.RoomID) error {
	_, err := r.db.Exec(ctx, "INSERT INTO e2ee_room (room, encryption) VALUES ($1, '') ON CONFLICT (room) DO UPDATE SET "+
		"encryption='' WHERE encryption IS NULL", room)
	return err
}

func (r *rooms) setVisibility(ctx context.Context, room id.RoomID, visibility string) error {
	_, err := r.db.Exec(ctx, "INSERT INTO e2ee_room (room, visibility) VALUES ($1, $2) ON CONFLICT (room) DO UPDATE SET "+
		"visibility=excluded.visibility", room, visibility)
	return err
}

// forget makes the next message fetch the room's members again.
func (r *rooms) forget(ctx context.Context, room id.RoomID) error {
	_, err := r.db.Exec(ctx, "UPDATE e2ee_room SET members=0 WHERE room=$1", room)
	return err
}

func (r *rooms) visibility(ctx context.Context, room id.RoomID) (visibility string, members bool, err error) {
	err = r.db.QueryRow(ctx, "SELECT visibility, members FROM e2ee_room WHERE room=$1", room).Scan(&visibility, &members)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return visibility, members, err
}

// readers returns the users who may read new messages: the members and, unless the
// history visibility excludes them, the invited users
// (https://spec.matrix.org/v1.11/client-server-api/#room-history-visibility).
func (r *rooms) readers(ctx context.Context, room id.RoomID) ([]id.UserID, error) {
	visibility, _, err := r.visibility(ctx, room)
	if err != nil {
		return nil, err
	}
	rows, err := r.db.Query(ctx, "SELECT user FROM e2ee_member WHERE room=$1 AND (membership='join' OR "+
		"membership='invite' AND $2) ORDER BY user",
		room, visibility != "joined")
	return dbutil.NewRowIterWithError(rows, dbutil.ScanSingleColumn[id.UserID], err).AsList()
}

func (r *rooms) setMember(ctx context.Context, room id.RoomID, user, membership string) error {
	_, err := r.db.Exec(ctx, "INSERT INTO e2ee_member (room, user, membership) VALUES ($1, $2, $3) ON CONFLICT (room, "+
		"user) DO UPDATE SET membership=excluded.membership", room, user, membership)
	return err
}

// setMembers replaces the stored members of a room.
func (r *rooms) setMembers(ctx context.Context, room id.RoomID, members map[string]string) error {
	if _, err := r.db.Exec(ctx, "DELETE FROM e2ee_member WHERE room=$1", room); err != nil {
		return err
	}
	for user, membership := range members {
		if membership != "join" && membership != "invite" {
			continue
		}
		if err := r.setMember(ctx, room, user, membership); err != nil {
			return err
		}
	}
	_, err := r.db.Exec(ctx, "INSERT INTO e2ee_room (room, members) VALUES ($1, 1) ON CONFLICT (room) DO UPDATE SET "+
		"members=1", room)
	return err
}
