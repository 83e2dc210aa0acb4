package matrix

import (
	"context"

	"maunium.net/go/mautrix"
	mautrixevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// Members returns the users who have joined a room.
func (a Rooms) Members(ctx context.Context, room string) ([]string, error) {
	joined, err := a.client.JoinedMembers(ctx, id.RoomID(room))
	if err != nil {
		return nil, err
	}
	users := make([]string, 0, len(joined.Joined))
	for user := range joined.Joined {
		users = append(users, user.String())
	}
	return users, nil
}

// HasJoined reports whether a user has joined a room.
func (a Rooms) HasJoined(ctx context.Context, room, user string) (bool, error) {
	var member mautrixevent.MemberEventContent
	err := a.client.StateEvent(ctx, id.RoomID(room), mautrixevent.StateMember, user, &member)
	if IsNotFound(err) { // was never there
		return false, nil
	}
	return member.Membership == mautrixevent.MembershipJoin, err
}

// Invited returns how many users are invited to a room and have not joined.
func (a Rooms) Invited(ctx context.Context, room string) (int, error) {
	members, err := a.client.Members(ctx, id.RoomID(room), mautrix.ReqMembers{Membership: mautrixevent.MembershipInvite})
	if err != nil {
		return 0, err
	}
	return len(members.Chunk), nil
}
