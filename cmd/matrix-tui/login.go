package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// login is what the bot keeps of its login in STATE_DIR/account.json, as far
// as this package needs it.
type login struct {
	Homeserver string
	UserID     string
	Token      Secret
}

// loadLogin reads the stored login; one that is missing, or cannot be read,
// gives the zero value, because the bot then logs in anew.
func loadLogin(cfg *Config) login {
	var stored struct {
		Homeserver string `json:"homeserver"`
		UserID     string `json:"user_id"`
		Token      Secret `json:"access_token"`
	}
	data, err := os.ReadFile(filepath.Join(string(cfg.StateDir), "account.json"))
	if err != nil || json.Unmarshal(data, &stored) != nil {
		return login{}
	}
	return login(stored)
}

// fits tells whether the stored login is that of the account in the settings,
// so that no password is needed.
func (l login) fits(cfg *Config) bool {
	localpart, _, _ := strings.Cut(strings.TrimPrefix(l.UserID, "@"), ":")
	user := string(cfg.User)
	return l.Token.Set() && l.Homeserver == string(cfg.Homeserver) && (user == l.UserID || user == localpart)
}
