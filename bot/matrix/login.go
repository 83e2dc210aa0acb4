package matrix

import (
	"context"
	"errors"
	"fmt"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// errNoPassword means that the homeserver offers no login with a password.
var errNoPassword = errors.New("log in: no m.login.password")

// Login uses the configured token or the stored one, or logs in with the password,
// and opens the encryption. It retries while the homeserver does not answer. It may
// be called again when the token is no longer valid.
func (a *Account) Login(ctx context.Context) error {
	defer a.waits.begin()(nil)
	stored, loggedIn := a.stored.load(), false
	for again := retry.New(time.Second, 10*time.Second); ; {
		what := "homeserver does not answer"
		var err error
		if !loggedIn {
			var now session
			if now, err = a.tryLogin(ctx, stored); err == nil {
				stored, loggedIn = now, true
				again.Reset()
			} else if errors.Is(err, oauth.ErrEnded) {
				if stored, err = a.awaitLogin(ctx, stored); err != nil {
					return err
				}
				continue
			} else if errors.Is(err, errNoPassword) {
				return sentence.Newf(err, "The homeserver %s has no login with a password: run `matrix-tui login`.",
					a.cfg.Homeserver)
			} else if IsUnknownToken(err) && a.canLogIn(stored) { // a login needs no token
				what = "the homeserver rejects the new token"
				if stored.OAuth != nil {
					stored = a.stored.load() // somebody else may have renewed it
				}
			} else if !Transient(err) {
				return sentence.Newf(fmt.Errorf("log in: %w", err),
					"The homeserver %s refuses the login of %s: check MATRIX_USER and MATRIX_PASSWORD (or MATRIX_ACCESS_TOKEN), or "+
						"run `matrix-tui login`.", a.cfg.Homeserver, a.cfg.User)
			}
		}
		if loggedIn {
			err = a.openCrypt(ctx, stored)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, e2ee.ErrForeignDevice) && a.cfg.AccessToken == "" && a.cfg.Password != "":
				stored, loggedIn = a.leaveDevice(ctx, err), false
				continue
			case errors.Is(err, e2ee.ErrForeignDevice):
				return a.goWithoutKeys(ctx, stored, err)
			case IsUnknownToken(err) && a.canLogIn(stored):
				what, loggedIn = "the session ended during the login", false
			case !Transient(err):
				return err
			}
		}
		pause := again.Next()
		a.log.Warn().Err(err).Dur("again_in_ms", pause).Msg(what)
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// canLogIn reports whether a session that has ended can be followed by another one without a person.
func (a *Account) canLogIn(stored session) bool {
	return a.cfg.Password != "" || a.cfg.AccessToken == "" && stored.OAuth != nil
}

// tryLogin returns a session that is valid. It does not become the current one.
func (a *Account) tryLogin(ctx context.Context, stored session) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if a.cfg.AccessToken != "" {
		stored = session{DeviceID: stored.DeviceID, AccessToken: a.cfg.AccessToken}
	}
	if stored.AccessToken != "" {
		now, err := a.tryToken(ctx, stored)
		if err == nil {
			return now, nil
		}
		if a.cfg.Password == "" || !IsUnknownToken(err) && !errors.Is(err, oauth.ErrEnded) {
			return session{}, err
		}
		a.log.Warn().Msg("the stored token is no longer valid: logging in again")
	}
	resp, err := a.client.Login(ctx, &mautrix.ReqLogin{
		Type:                     mautrix.AuthTypePassword,
		Identifier:               mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: a.cfg.User},
		Password:                 a.cfg.Password,
		DeviceID:                 stored.DeviceID,
		InitialDeviceDisplayName: "matrix-tui",
	})
	if err != nil {
		if flows, failed := a.client.GetLoginFlows(ctx); failed == nil && len(flows.Flows) > 0 &&
			!flows.HasFlow(mautrix.AuthTypePassword) {
			err = errNoPassword
		}
		return session{}, err
	}
	s := session{a.cfg.Homeserver, resp.UserID, resp.DeviceID, resp.AccessToken, nil}
	return s, a.stored.save(s)
}

// tryToken asks the homeserver whose token it is, and renews it if that is necessary and possible.
func (a *Account) tryToken(ctx context.Context, s session) (session, error) {
	for renewed := false; ; renewed = true {
		who, err := a.client.Whoami(withToken(ctx, s.AccessToken))
		switch {
		case err == nil:
			return session{a.cfg.Homeserver, who.UserID, who.DeviceID, s.AccessToken, s.OAuth}, nil
		case s.OAuth == nil || renewed || !IsUnknownToken(err):
			return session{}, err
		}
		if s, err = a.stored.renew(ctx, s.AccessToken); err != nil {
			return session{}, err
		}
	}
}

// awaitLogin waits until somebody has logged in again.
func (a *Account) awaitLogin(ctx context.Context, ended session) (session, error) {
	a.ended.Store(true)
	defer a.ended.Store(false)
	a.log.Error().Msg(EndedText)
	for {
		if err := retry.Sleep(ctx, time.Second); err != nil {
			return session{}, err
		}
		if s := a.stored.load(); s.AccessToken != "" && s.AccessToken != ended.AccessToken {
			return s, nil
		}
	}
}

// EndedText says what to do about a login that has ended.
const EndedText = "the homeserver has ended the bot's login: run `matrix-tui login`"

// Ended reports whether the bot waits until somebody has logged in again.
func (a *Account) Ended() bool { return a.ended.Load() }

// become makes a session the current one. Others may be reading the account and the device.
// cryptMu is locked and the machine closed, so that its requests keep the token of its session.
func (a *Account) become(s session) {
	a.bearer.set(s)
	a.stored.expect(s)
	if a.client.UserID != s.UserID {
		a.client.UserID = s.UserID
	}
	if a.client.DeviceID != s.DeviceID {
		a.client.DeviceID = s.DeviceID
	}
}

// leaveDevice logs out a session whose keys we do not have. The next login creates a
// new one.
func (a *Account) leaveDevice(ctx context.Context, why error) session {
	a.log.Warn().Err(why).Msg("the keys of this session are lost: logging in as a new one")
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := a.client.Logout(ctx); err != nil {
		a.log.Warn().Err(err).Msg("cannot log out the old session")
	}
	return session{}
}

// goWithoutKeys continues without a device, because the keys of the token's session are
// lost and no other session can be created: unencrypted rooms work.
func (a *Account) goWithoutKeys(ctx context.Context, s session, why error) error {
	a.log.Error().Err(why).Msg("the keys of this session are lost, so the bot cannot read or write in encrypted rooms. " +
		"Set MATRIX_ACCESS_TOKEN to the token of a new session, or MATRIX_PASSWORD instead, or stop the bot and run " +
		"`matrix-tui login`. Unencrypted rooms work")
	a.keysLost = true
	s.DeviceID = ""
	return a.openCrypt(ctx, s)
}
