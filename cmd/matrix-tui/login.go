package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// login is the part of STATE_DIR/account.json that this package needs.
type login struct {
	Homeserver string
	UserID     string
	Token      Secret
}

// loadLogin reads the stored login; if it is missing or unreadable, it returns the zero
// value, because the bot will log in again.
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

// fits reports whether the stored login belongs to the configured account, so that no
// password is needed.
func (l login) fits(cfg *Config) bool {
	localpart, _, _ := strings.Cut(strings.TrimPrefix(l.UserID, "@"), ":")
	user := string(cfg.User)
	return l.Token.Set() && l.Homeserver == string(cfg.Homeserver) && (user == l.UserID || user == localpart)
}
