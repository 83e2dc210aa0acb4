package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/cmd/matrix-tui/settings"
)

// StoredLogin is the part of STATE_DIR/account.json that this package needs.
type StoredLogin struct {
	Homeserver string          `json:"homeserver"`
	UserID     string          `json:"user_id"`
	Token      settings.Secret `json:"access_token"`
	OAuth      *struct {
		Refresh settings.Secret `json:"refresh_token"`
		Expires time.Time       `json:"expires"`
	} `json:"oauth"`
}

// LoadLogin reads the stored login; if it is missing or unreadable, it returns the zero
// value, because the bot will log in again.
func LoadLogin(cfg *settings.Config) StoredLogin {
	var stored StoredLogin
	data, err := os.ReadFile(filepath.Join(string(cfg.StateDir), "account.json"))
	if err != nil || json.Unmarshal(data, &stored) != nil {
		return StoredLogin{}
	}
	return stored
}

// Fits reports whether the stored login belongs to the configured account, so that no
// password is needed.
func (l StoredLogin) Fits(cfg *settings.Config) bool {
	localpart, _, _ := strings.Cut(strings.TrimPrefix(l.UserID, "@"), ":")
	user := string(cfg.User)
	return l.Token.Set() && l.Homeserver == string(cfg.Homeserver) && (user == l.UserID || user == localpart)
}

// Ended reports whether the homeserver has ended the login, so that somebody must log in again.
func (l StoredLogin) Ended() bool { return l.OAuth != nil && !l.OAuth.Refresh.Set() }

// FindHomeserver looks up the client API of the server in the bot's user ID, unless it
// is configured.
func FindHomeserver(ctx context.Context, cfg *settings.Config) error {
	_, server, full := strings.Cut(string(cfg.User), ":")
	if cfg.Homeserver != "" || !full {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	address, err := matrix.Discover(ctx, server)
	if err == nil {
		err = cfg.Homeserver.UnmarshalText([]byte(address))
	}
	if err != nil {
		return &settings.Error{Problems: []string{fmt.Sprintf("MATRIX_HOMESERVER is missing, and %s does not say where its "+
			"client API is (%v); expected %s", server, err, settings.RightFor("MATRIX_HOMESERVER"))}}
	}
	return nil
}
