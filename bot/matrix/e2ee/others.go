package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

const (
	askAgain = time.Minute // pause before devices are requested again after a failure
	// lookAgain is the pause before a user's untrusted devices are requested again,
	// unless the homeserver reports a change.
	lookAgain = time.Hour
	// readTime is how long Decrypt waits for the devices of a sender. KeyArrived is
	// called when they come later.
	readTime = 3 * time.Second
)

// fetchDevices fetches the devices and identities of users. m.mu is not held.
func (m *Machine) fetchDevices(ctx context.Context, users []id.UserID) error {
	var all []*flight
	for _, same := range byServer(users, m.cfg.Client.UserID.Homeserver(), m.server) {
		all = append(all, m.queries.start(&m.requests, same, m.query)...)
	}
	return wait(ctx, all)
}

// server returns the homeserver that a request about a user waits for: none for our own
// account, which is in every room.
func (m *Machine) server(user id.UserID) string {
	if user == m.cfg.Client.UserID {
		return ""
	}
	return user.Homeserver()
}

// maxServers is the number of homeservers in a room from which on they share requests.
const maxServers = 30

// byServer groups users or devices by their homeserver, so that a dead one delays only
// its own. Where there are very many, they share groups, except with our own homeserver.
func byServer[T any](all []T, own string, server func(T) string) map[string][]T {
	groups, shared := map[string][]T{}, map[string]string{}
	for _, one := range all {
		name := server(one)
		group, known := shared[name]
		if !known {
			group = name
			if len(groups) >= maxServers && name != "" && name != own {
				group = fmt.Sprintf("#%d", len(shared)%maxServers)
			}
			shared[name] = group
		}
		groups[group] = append(groups[group], one)
	}
	return groups
}

// query requests the devices of users and stores them. If another homeserver's users are
// not answered for in time, their known devices stay.
func (m *Machine) query(users []id.UserID) error {
	m.mu.Lock()
	for _, user := range users {
		m.changed[user] = false
	}
	cli := m.mach.Client
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(m.ctx, fetchTime)
	defer cancel()
	req := mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{}, Timeout: askTime.Milliseconds()}
	for _, user := range users {
		req.DeviceKeys[user] = mautrix.DeviceIDList{}
	}
	var raw json.RawMessage
	_, err := cli.MakeRequest(ctx, http.MethodPost, cli.BuildClientURL("v3", "keys", "query"), &req, &raw)
	came, err := m.queried(users, raw, err, m.late(ctx, users[0]))
	for _, key := range came {
		if m.cfg.KeyArrived != nil && m.ctx.Err() == nil {
			m.cfg.KeyArrived(key)
		}
	}
	return err
}

// late reports whether another homeserver is the reason that a request about its users, one
// of whom is user, has failed: ours has not answered in time.
func (m *Machine) late(ctx context.Context, user id.UserID) bool {
	return ctx.Err() != nil && m.ctx.Err() == nil && user.Homeserver() != m.cfg.Client.UserID.Homeserver()
}

// queried stores the result of a query, and returns the keys that may be proven now.
func (m *Machine) queried(users []id.UserID, raw []byte, err error, late bool) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var again []id.UserID
	for _, user := range users {
		if m.changed[user] {
			again = append(again, user)
		}
		delete(m.changed, user)
	}
	if err != nil && late {
		m.log.Warn().Str("server", users[0].Homeserver()).Msg("the devices of a homeserver's users cannot be fetched in time")
		for _, user := range users {
			m.noteAsked(user)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch devices: %w", err)
	}
	// mautrix stores devices, which then count as known, before the identity that signs them: all of it or nothing.
	m.store.begin()
	err = m.db.DoTxn(answers{query: raw}.with(m.ctx), nil, func(ctx context.Context) error {
		if err := m.fetchKeys(ctx, users); err != nil {
			return err
		}
		if len(again) > 0 {
			if err := m.store.MarkTrackedUsersOutdated(ctx, again); err != nil {
				return fmt.Errorf("record changed devices: %w", err)
			}
		}
		return m.store.failure()
	})
	if err != nil {
		return nil, fmt.Errorf("store devices: %w", err)
	}
	for _, user := range users {
		if !slices.Contains(again, user) {
			m.noteAsked(user)
		}
	}
	m.missing.changed(users)
	return m.missing.take(), nil
}

// outdated returns those users whose devices are not known or have changed, unless they
// were requested in vain recently. m.mu is held.
func (m *Machine) outdated(ctx context.Context, users []id.UserID) ([]id.UserID, error) {
	outdated, err := m.store.GetOutdatedTrackedUsers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list changed devices: %w", err)
	}
	known := map[id.UserID]bool{}
	for some := range slices.Chunk(users, 1000) {
		tracked, err := m.store.FilterTrackedUsers(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("list users with known devices: %w", err)
		}
		for _, user := range tracked {
			known[user] = true
		}
	}
	for _, user := range outdated {
		known[user] = false
	}
	return slices.DeleteFunc(slices.Clone(users), func(user id.UserID) bool { return known[user] || m.askedRecently(user) }), nil
}

// refreshDevices fetches the devices of those users whose device lists have changed or
// are not known. If a user's homeserver does not answer, the known devices stay and are
// requested again after askAgain. m.mu is not held.
func (m *Machine) refreshDevices(ctx context.Context, users []id.UserID) error {
	m.mu.Lock()
	outdated, err := m.outdated(ctx, users)
	m.mu.Unlock()
	if err != nil || len(outdated) == 0 {
		return err
	}
	return m.fetchDevices(ctx, outdated)
}

// askedRecently reports whether a user's devices were requested within askAgain. That is
// noted when the answer comes: until then, Encrypt waits for it.
func (m *Machine) askedRecently(user id.UserID) bool { return time.Since(m.asked[user]) < askAgain }

func (m *Machine) noteAsked(user id.UserID) {
	if len(m.asked) >= 10_000 {
		clear(m.asked)
	}
	m.asked[user] = time.Now()
}

// fetchSoon fetches a user's devices, but stops waiting after readTime. If another user
// of the same homeserver has waited that long already, it does not wait at all.
func (m *Machine) fetchSoon(ctx context.Context, user id.UserID) error {
	patience := readTime
	if m.queries.overdue(readTime, func(other id.UserID) bool { return other.Homeserver() == user.Homeserver() }) {
		patience = 0
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := m.fetchDevices(soon, []id.UserID{user})
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// asksAgain reports whether a user's devices were last requested longer ago than a time.
func (m *Machine) asksAgain(user id.UserID, after time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.asked[user]) >= after
}

// deviceOf returns a user's device by its key, including deleted ones, or nil. It
// fetches the user's devices if the key is not known.
func (m *Machine) deviceOf(ctx context.Context, user id.UserID, key id.IdentityKey) (*id.Device, error) {
	device, err := m.keys().FindDeviceByKey(ctx, user, key)
	if err != nil || device != nil || !m.asksAgain(user, askAgain) {
		return device, err
	}
	if err := m.fetchSoon(ctx, user); err != nil {
		return nil, err
	}
	return m.keys().FindDeviceByKey(ctx, user, key)
}

// refreshUser fetches a user's devices and identity unless that was done within lookAgain.
func (m *Machine) refreshUser(ctx context.Context, user id.UserID) error {
	if !m.asksAgain(user, lookAgain) {
		return nil
	}
	return m.fetchSoon(ctx, user)
}

// answerRequest sends a key again to a device that it was sent to before. It answers
// only known and trusted devices and fetches none, so that a stranger cannot make us
// send requests.
func (m *Machine) answerRequest(ctx context.Context, user id.UserID, request *event.RoomKeyRequestEventContent) {
	device, err := m.store.GetDevice(ctx, user, request.RequestingDeviceID)
	if err != nil || device == nil {
		return
	}
	if yes, err := m.trusts(ctx, m.mach, device); err != nil || !yes {
		return
	}
	lacks, err := m.store.lacks(ctx, device.IdentityKey)
	if err != nil {
		return
	}
	if !lacks {
		m.mach.HandleRoomKeyRequest(answers{}.with(ctx), user, request)
		return
	}
	m.later(device, func(ctx context.Context) { m.mach.HandleRoomKeyRequest(ctx, user, request) })
}
