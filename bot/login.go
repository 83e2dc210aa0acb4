package bot

import (
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

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/sentence"
)

// account is what account.json keeps (mode 0600): the login, made once. The
// device must stay the same, because transaction IDs are the device's own.
type account struct {
	Homeserver  string      `json:"homeserver"`
	UserID      id.UserID   `json:"user_id"`
	DeviceID    id.DeviceID `json:"device_id"`
	AccessToken string      `json:"access_token"`
}

// login takes the stored token, or the given one, or logs in with the
// password; while the homeserver does not answer it waits.
func (b *Bot) login(ctx context.Context) error {
	stored := b.loadAccount()
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		what := "homeserver does not answer"
		err := b.tryLogin(ctx, stored)
		if err == nil {
			stored = account{DeviceID: b.client.DeviceID, AccessToken: b.client.AccessToken}
			err = b.tryCrypt(ctx)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, e2ee.ErrForeignDevice) && b.AccessToken == "" && b.Password != "":
				stored = b.leaveDevice(ctx, err)
				continue
			case errors.Is(err, mautrix.MUnknownToken) && b.Password != "":
				what = "the session was ended while it began"
			case !transient(err):
				return err
			}
		} else if !transient(err) {
			return sentence.Newf(fmt.Errorf("log in: %w", err),
				"The homeserver %s refuses the login of %s: check MATRIX_USER and MATRIX_PASSWORD (or MATRIX_ACCESS_TOKEN).", b.Homeserver, b.User)
		}
		b.log.Warn().Err(err).Dur("again_in_ms", wait).Msg(what)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (b *Bot) tryLogin(ctx context.Context, stored account) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if token := b.AccessToken; token != "" {
		b.client.AccessToken = token
	} else if stored.AccessToken != "" {
		b.client.AccessToken = stored.AccessToken
	}
	if b.client.AccessToken != "" {
		who, err := b.client.Whoami(ctx)
		if err == nil {
			b.client.UserID, b.client.DeviceID = who.UserID, who.DeviceID
			return nil
		}
		if b.Password == "" || !errors.Is(err, mautrix.MUnknownToken) {
			return err
		}
		b.log.Warn().Msg("the stored token is no longer good: logging in again")
	}
	resp, err := b.client.Login(ctx, &mautrix.ReqLogin{
		Type:                     mautrix.AuthTypePassword,
		Identifier:               mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: b.User},
		Password:                 b.Password,
		DeviceID:                 stored.DeviceID,
		InitialDeviceDisplayName: "matrix-tui",
		StoreCredentials:         true,
	})
	if err != nil {
		return err
	}
	return b.saveAccount(account{b.Homeserver, resp.UserID, resp.DeviceID, resp.AccessToken})
}

// tryCrypt opens the encryption of the device that is logged in.
func (b *Bot) tryCrypt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return b.openCrypt(ctx)
}

// leaveDevice ends a session whose keys are not ours. The next login makes
// another one.
func (b *Bot) leaveDevice(ctx context.Context, why error) account {
	b.log.Warn().Err(why).Msg("the keys of this session are lost: logging in as a new one")
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := b.client.Logout(ctx); err != nil {
		b.log.Warn().Err(err).Msg("the old session could not be ended")
	}
	b.client.AccessToken, b.client.DeviceID = "", ""
	return account{}
}

func (b *Bot) accountFile() string { return filepath.Join(b.StateDir, "account.json") }

// loadAccount returns the stored login when it is this account's.
func (b *Bot) loadAccount() account {
	var a account
	data, err := os.ReadFile(b.accountFile())
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn().Err(err).Msg("the stored login cannot be read: logging in anew")
	}
	if a.Homeserver != b.Homeserver || (b.User != a.UserID.String() && b.User != a.UserID.Localpart()) {
		return account{}
	}
	return a
}

func (b *Bot) saveAccount(a account) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(b.accountFile(), data, 0o600); err != nil {
		return fmt.Errorf("save the login: %w", err)
	}
	return nil
}

// transient tells an answer that may be another one later from a refusal.
func transient(err error) bool {
	var http mautrix.HTTPError
	if !errors.As(err, &http) {
		return false
	}
	if http.Response == nil {
		return true
	}
	code := http.Response.StatusCode
	return code == 429 || code >= 500
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
