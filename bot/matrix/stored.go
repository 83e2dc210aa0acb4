package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"
	"golang.org/x/oauth2"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/state/retry"
)

// session is the content of account.json (mode 0600). The device must stay the
// same, because transaction IDs belong to a device.
type session struct {
	Homeserver  string      `json:"homeserver"`
	UserID      id.UserID   `json:"user_id"`
	DeviceID    id.DeviceID `json:"device_id"`
	AccessToken string      `json:"access_token"`
	OAuth       *renewing   `json:"oauth,omitempty"` // nil: the token does not expire
}

// renewing is what renews the access token of an OAuth 2.0 login.
type renewing struct {
	Issuer       string    `json:"issuer"`
	ClientID     string    `json:"client_id"`
	RefreshToken string    `json:"refresh_token"` // "" once the server has ended the login
	Expires      time.Time `json:"expires"`       // of the access token; zero: unknown
}

// margin is how long before its end an access token is renewed; one that lives for less than five minutes, a fifth of
// its life.
const margin = time.Minute

// errNotRenewed means that an access token could not be renewed for a reason that may go away.
var errNotRenewed = errors.New("the access token cannot be renewed now")

// storedLogin is account.json, and renews the tokens in it. The file always has the newest ones: it is written before
// they are used, so that a crash loses none. Until then the server accepts the previous refresh token again.
type storedLogin struct {
	dir, homeserver, user string
	log                   zerolog.Logger

	due  atomic.Int64 // when to renew the current token, in Unix nanoseconds; 0: never
	life atomic.Int64 // how long a token lives, in nanoseconds; 0: unknown

	mu     sync.Mutex // held while a token is renewed
	again  *retry.Backoff
	pause  time.Time // no attempt before, after
	failed error
}

func (l *storedLogin) file() string { return filepath.Join(l.dir, "account.json") }

// load returns the stored login if it belongs to this account.
func (l *storedLogin) load() session {
	var s session
	data, err := os.ReadFile(l.file())
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn().Err(err).Msg("cannot read the stored login: logging in again")
	}
	if s.Homeserver != l.homeserver || (l.user != s.UserID.String() && l.user != s.UserID.Localpart()) {
		return session{}
	}
	return s
}

func (l *storedLogin) save(s session) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	crash.Count("write account.json")
	if err := renameio.WriteFile(l.file(), data, 0o600); err != nil {
		return fmt.Errorf("save login: %w", err)
	}
	dir, err := os.Open(l.dir)
	if err != nil {
		return fmt.Errorf("save login: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil { // a refresh token that has been used is worth nothing after a power failure
		return fmt.Errorf("save login: %w", err)
	}
	return nil
}

// expect notes when to renew the token of the current session.
func (l *storedLogin) expect(s session) {
	if s.OAuth == nil || s.OAuth.Expires.IsZero() {
		l.due.Store(0)
		return
	}
	before := margin
	if life := time.Duration(l.life.Load()); life > 0 {
		before = min(margin, life/5)
	}
	l.due.Store(s.OAuth.Expires.Add(-before).UnixNano())
}

// isDue reports whether it is time to renew the token of the current session.
func (l *storedLogin) isDue() bool {
	due := l.due.Load()
	return due != 0 && time.Now().UnixNano() >= due
}

// renew returns a session with another access token than used: one that is stored already, or a new one. It fails with
// [oauth.ErrEnded] or errNotRenewed.
func (l *storedLogin) renew(ctx context.Context, used string) (session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.load()
	switch {
	case s.OAuth == nil:
		return s, errNotRenewed
	case s.AccessToken != used && (s.OAuth.Expires.IsZero() || time.Now().Before(s.OAuth.Expires)):
		l.expect(s)
		return s, nil
	case s.OAuth.RefreshToken == "":
		return s, oauth.ErrEnded
	case time.Now().Before(l.pause):
		return s, l.failed
	}
	token, err := l.refresh(ctx, *s.OAuth)
	ended := errors.Is(err, oauth.ErrEnded)
	switch {
	case ended:
		s.OAuth.RefreshToken = ""
	case err != nil:
		return s, l.notNow(err)
	default:
		s.AccessToken, s.OAuth.RefreshToken, s.OAuth.Expires = token.AccessToken, token.RefreshToken, token.Expiry
	}
	if err := l.save(s); err != nil {
		return s, l.notNow(err)
	}
	if ended {
		l.due.Store(0)
		return s, err
	}
	l.again = nil
	l.life.Store(int64(time.Until(token.Expiry)))
	l.expect(s)
	return s, nil
}

// notNow makes the next attempt wait. l.mu is held.
func (l *storedLogin) notNow(err error) error {
	l.log.Warn().Err(err).Msg(errNotRenewed.Error())
	if l.again == nil {
		l.again = retry.New(500*time.Millisecond, 30*time.Second)
	}
	l.pause, l.failed = time.Now().Add(l.again.Next()), fmt.Errorf("%w: %w", errNotRenewed, err)
	return l.failed
}

// refresh asks the server that has issued a refresh token, and no other, for new tokens.
func (l *storedLogin) refresh(ctx context.Context, with renewing) (*oauth2.Token, error) {
	// Without the caller's end: a refresh token that is used must bring its successor.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	server, err := oauth.Discover(ctx, l.homeserver)
	if err != nil {
		return nil, err
	}
	if server.Issuer != with.Issuer {
		return nil, errors.New("the homeserver has another OAuth 2.0 server now: run `matrix-tui login`")
	}
	return server.Refresh(ctx, with.ClientID, with.RefreshToken)
}
