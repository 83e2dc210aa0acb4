package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/retry"
	"matrix-tui/state/sentence"
)

// session is the content of account.json (mode 0600). The device must stay the
// same, because transaction IDs belong to a device.
type session struct {
	Homeserver  string      `json:"homeserver"`
	UserID      id.UserID   `json:"user_id"`
	DeviceID    id.DeviceID `json:"device_id"`
	AccessToken string      `json:"access_token"`
}

// Login uses the configured token or the stored one, or logs in with the password,
// and opens the encryption. It retries while the homeserver does not answer. It may
// be called again when the token is no longer valid.
func (a *Account) Login(ctx context.Context) error {
	defer a.waits.begin()(nil)
	stored, loggedIn := a.loadAccount(), false
	for again := retry.New(time.Second, 10*time.Second); ; {
		what := "homeserver does not answer"
		var err error
		if !loggedIn {
			var now session
			if now, err = a.tryLogin(ctx, stored); err == nil {
				stored, loggedIn = now, true
				again.Reset()
			} else if !Transient(err) && (a.cfg.Password == "" || !IsUnknownToken(err)) { // a login needs no token
				return sentence.Newf(fmt.Errorf("log in: %w", err),
					"The homeserver %s refuses the login of %s: check MATRIX_USER and MATRIX_PASSWORD (or MATRIX_ACCESS_TOKEN).", a.cfg.Homeserver, a.cfg.User)
			}
		}
		if loggedIn {
			err = a.tryCrypt(ctx, stored)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, e2ee.ErrForeignDevice) && a.cfg.AccessToken == "" && a.cfg.Password != "":
				stored, loggedIn = a.leaveDevice(ctx, err), false
				continue
			case errors.Is(err, e2ee.ErrReplaced):
				return a.goWithoutKeys(ctx, stored, err)
			case IsUnknownToken(err) && a.cfg.Password != "":
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

// tryLogin returns a session that is valid. It does not become the current one.
func (a *Account) tryLogin(ctx context.Context, stored session) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if token := cmp.Or(a.cfg.AccessToken, stored.AccessToken); token != "" {
		who, err := a.client.Whoami(withToken(ctx, token))
		if err == nil {
			return session{a.cfg.Homeserver, who.UserID, who.DeviceID, token}, nil
		}
		if a.cfg.Password == "" || !IsUnknownToken(err) {
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
		return session{}, err
	}
	s := session{a.cfg.Homeserver, resp.UserID, resp.DeviceID, resp.AccessToken}
	return s, a.saveAccount(s)
}

// become makes a session the current one. Others may be reading the account and the device.
// cryptMu is locked and the machine closed, so that its requests keep the token of its session.
func (a *Account) become(s session) {
	a.bearer.set(s.AccessToken)
	if a.client.UserID != s.UserID {
		a.client.UserID = s.UserID
	}
	if a.client.DeviceID != s.DeviceID {
		a.client.DeviceID = s.DeviceID
	}
}

// tryCrypt is openCrypt with a timeout.
func (a *Account) tryCrypt(ctx context.Context, s session) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return a.openCrypt(ctx, s)
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
	a.log.Error().Err(why).Msg("the keys of this session are lost, so the bot cannot read or write in encrypted rooms. Set MATRIX_ACCESS_TOKEN to the token of a new session, or MATRIX_PASSWORD instead. Unencrypted rooms work")
	a.keysLost = true
	s.DeviceID = ""
	return a.tryCrypt(ctx, s)
}

func (a *Account) accountFile() string { return filepath.Join(a.cfg.StateDir, "account.json") }

// loadAccount returns the stored login if it belongs to this account.
func (a *Account) loadAccount() session {
	var s session
	data, err := os.ReadFile(a.accountFile())
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Warn().Err(err).Msg("cannot read the stored login: logging in again")
	}
	if s.Homeserver != a.cfg.Homeserver || (a.cfg.User != s.UserID.String() && a.cfg.User != s.UserID.Localpart()) {
		return session{}
	}
	return s
}

func (a *Account) saveAccount(s session) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	crash.Count("write account.json")
	if err := renameio.WriteFile(a.accountFile(), data, 0o600); err != nil {
		return fmt.Errorf("save login: %w", err)
	}
	return nil
}

// Try checks, with a copy of the state directory, that the account could log in and
// read its keys. Its only request to the homeserver is whoami.
func (a *Account) Try(ctx context.Context) error {
	token := a.cfg.AccessToken
	if token == "" {
		token = a.loadAccount().AccessToken
	}
	if token == "" {
		return sentence.New(errors.New("log in: no token"), "There is no stored login: start the bot once with MATRIX_PASSWORD.")
	}
	call, cancel := context.WithTimeout(withToken(ctx, token), 30*time.Second)
	defer cancel()
	who, err := a.client.Whoami(call)
	switch {
	case IsUnknownToken(err):
		return sentence.New(fmt.Errorf("log in: %w", err), "The homeserver does not know the stored login.")
	case err != nil:
		return fmt.Errorf("check the token with %s: %w", a.cfg.Homeserver, err)
	}
	a.become(session{UserID: who.UserID, DeviceID: who.DeviceID, AccessToken: token})
	return e2ee.Try(ctx, a.e2eeConfig())
}
