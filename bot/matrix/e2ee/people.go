package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	"maunium.net/go/mautrix"
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
	// maxLookups is the maximum number of users that are remembered.
	maxLookups = 10_000
)

// people keeps the devices and identities of users in the store up to date.
type people struct {
	*core
	known map[id.UserID]lookup // guarded by mu
	soon  singleflight.Group   // requests that Decrypt waits for
}

// lookup is what is known about requests for a user's devices.
type lookup struct {
	asked   time.Time // when they were last requested
	waited  time.Time // when Decrypt has waited for them in vain
	changes int       // how often they have changed
}

// note changes what is known about requests for a user's devices. m.mu is held.
func (m *people) note(user id.UserID, f func(*lookup)) {
	if len(m.known) >= maxLookups {
		clear(m.known)
	}
	l := m.known[user]
	f(&l)
	m.known[user] = l
}

func (m *people) noteAsked(user id.UserID) { m.note(user, func(l *lookup) { l.asked = time.Now() }) }

// hasChanged notes that a user's devices have changed: they are fetched again at once. m.mu is held.
func (m *people) hasChanged(user id.UserID) {
	m.note(user, func(l *lookup) { *l = lookup{changes: l.changes + 1} })
	m.soon.Forget(user.String())
}

// changesOf counts the changes of users' devices. m.mu is held.
func (m *people) changesOf(users []id.UserID) (n int) {
	for _, user := range users {
		n += m.known[user].changes
	}
	return n
}

// asksAgain reports whether a user's devices were last requested longer ago than a time.
func (m *people) asksAgain(user id.UserID, after time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.known[user].asked) >= after
}

// fetchDevices fetches the devices and identities of users. m.mu is not held.
func (m *people) fetchDevices(ctx context.Context, users []id.UserID) error {
	itself := func(user id.UserID) id.UserID { return user }
	return byServer(m.core, users, itself, func(same []id.UserID) error { return m.query(ctx, same) })
}

// query requests the devices of users and stores them. If another homeserver's users are
// not answered for in time, their known devices stay.
func (m *people) query(ctx context.Context, users []id.UserID) error {
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	m.mu.Lock()
	before, cli := m.changesOf(users), m.mach.Client
	m.mu.Unlock()
	req := mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{}, Timeout: askTime.Milliseconds()}
	for _, user := range users {
		req.DeviceKeys[user] = mautrix.DeviceIDList{}
	}
	var raw json.RawMessage
	if _, err := cli.MakeRequest(ctx, http.MethodPost, cli.BuildClientURL("v3", "keys", "query"), &req, &raw); err != nil {
		return m.unanswered(ctx, users, err)
	}
	came, err := m.stored(users, raw, before)
	for _, key := range came {
		if m.cfg.KeyArrived != nil && m.ctx.Err() == nil {
			m.cfg.KeyArrived(key)
		}
	}
	return err
}

// unanswered returns the error of a query, or nil if it is another homeserver that has not answered.
func (m *people) unanswered(ctx context.Context, users []id.UserID, err error) error {
	if !m.late(ctx, users[0]) {
		return fmt.Errorf("fetch devices: %w", err)
	}
	m.log.Warn().Str("server", users[0].Homeserver()).Msg("the devices of a homeserver's users cannot be fetched in time")
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, user := range users {
		m.noteAsked(user)
	}
	return nil
}

// stored stores the answer to a query, which is out of date if the users' devices have changed since. It returns the
// keys that may be proven now.
func (m *people) stored(users []id.UserID, raw []byte, changes int) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.changesOf(users) != changes
	// mautrix stores devices, which then count as known, before the identity that signs them: all of it or nothing.
	m.db.begin()
	err := m.db.DoTxn(withAnswer(m.ctx, raw), nil, func(ctx context.Context) error {
		if err := m.fetchKeys(ctx, users); err != nil {
			return err
		}
		if old {
			if err := m.store.MarkTrackedUsersOutdated(ctx, users); err != nil {
				return fmt.Errorf("record changed devices: %w", err)
			}
		}
		return m.db.failure()
	})
	if err != nil {
		return nil, fmt.Errorf("store devices: %w", err)
	}
	for _, user := range users {
		if !old {
			m.noteAsked(user)
		}
	}
	return m.arrived(nil, users), nil
}

// fetchKeys fetches the devices and identities of users. If a user's trusted devices
// have changed, the user's rooms get new keys. m.mu is held.
func (m *people) fetchKeys(ctx context.Context, users []id.UserID) error {
	before := make([]map[id.DeviceID]bool, len(users))
	for i, user := range users {
		var err error
		if before[i], err = m.trustedDevices(ctx, user); err != nil {
			return err
		}
	}
	if _, err := m.mach.FetchKeys(ctx, users, true); err != nil {
		return fmt.Errorf("fetch devices: %w", err)
	}
	for i, user := range users {
		if user != m.cfg.Client.UserID {
			if err := m.store.pin(ctx, user); err != nil {
				return err
			}
		}
		after, err := m.trustedDevices(ctx, user)
		if err != nil {
			return err
		}
		if !maps.Equal(before[i], after) {
			m.mach.OnDevicesChanged(ctx, user)
		}
	}
	return nil
}

// outdated returns those users whose devices are not known or have changed, unless they
// were requested in vain recently. m.mu is held.
func (m *people) outdated(ctx context.Context, users []id.UserID) ([]id.UserID, error) {
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
	return slices.DeleteFunc(slices.Clone(users), func(user id.UserID) bool {
		return known[user] || time.Since(m.known[user].asked) < askAgain
	}), nil
}

// refreshDevices fetches the devices of those users whose device lists have changed or
// are not known. If a user's homeserver does not answer, the known devices stay and are
// requested again after askAgain. m.mu is not held.
func (m *people) refreshDevices(ctx context.Context, users []id.UserID) error {
	m.mu.Lock()
	outdated, err := m.outdated(ctx, users)
	m.mu.Unlock()
	if err != nil || len(outdated) == 0 {
		return err
	}
	return m.fetchDevices(ctx, outdated)
}

// fetchSoon fetches a user's devices in the background and waits for readTime, but not again a moment after it has
// waited in vain.
func (m *people) fetchSoon(ctx context.Context, user id.UserID) error {
	ended := make(chan error, 1)
	m.requests.Go(func() {
		_, err, _ := m.soon.Do(user.String(), func() (any, error) {
			return nil, m.fetchDevices(m.ctx, []id.UserID{user})
		})
		ended <- err
	})
	m.mu.Lock()
	waited := m.known[user].waited
	m.mu.Unlock()
	if time.Since(waited) < askAgain {
		return nil
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(readTime):
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(user, func(l *lookup) { l.waited = time.Now() })
	return nil
}

// deviceOf returns a user's device by its key, including deleted ones, or nil. It
// fetches the user's devices if the key is not known.
func (m *people) deviceOf(ctx context.Context, user id.UserID, key id.IdentityKey) (*id.Device, error) {
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
func (m *people) refreshUser(ctx context.Context, user id.UserID) error {
	if !m.asksAgain(user, lookAgain) {
		return nil
	}
	return m.fetchSoon(ctx, user)
}
