package bottest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"matrix-tui/bot/bottest/host"
)

// asBot sends a request with the bot's own token, like somebody who has its password.
func (sc *script) asBot(ctx context.Context, method, path string, body any) error {
	data, err := os.ReadFile(filepath.Join(sc.state(), "account.json"))
	if err != nil {
		return err
	}
	var account struct {
		Homeserver  string `json:"homeserver"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &account); err != nil {
		return fmt.Errorf("read account.json: %w", err)
	}
	if data, err = json.Marshal(body); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, account.Homeserver+"/_matrix/client/v3/"+path,
		bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+account.AccessToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return nil
}

// doLogoutBot ends the bot's login.
func doLogoutBot(ctx context.Context, sc *script, _ bool, _ []string) error {
	var err error
	if sc.noted["login"], err = sc.login(); err != nil {
		return err
	}
	return sc.asBot(ctx, http.MethodPost, "logout", struct{}{})
}

// doLoggedIn waits until the bot has stored another login than the one that logout-bot has ended.
func doLoggedIn(ctx context.Context, sc *script, _ bool, _ []string) error {
	return host.Poll(ctx, func() (bool, error) {
		now, err := sc.login()
		return now != sc.noted["login"], err
	})
}

// login is what the bot has stored about its login.
func (sc *script) login() (string, error) {
	data, err := os.ReadFile(filepath.Join(sc.state(), "account.json"))
	return string(data), err
}

// doDirect makes a room the only direct chat of the bot's account, with somebody.
func doDirect(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	path := "user/" + url.PathEscape(sc.bot.id) + "/account_data/m.direct"
	return sc.asBot(ctx, http.MethodPut, path, map[string][]string{p.ID(): {room}})
}

// doProfile waits until the bot's account has the name and the picture.
func doProfile(ctx context.Context, sc *script, _ bool, args []string) error {
	name, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	picture, err := regexp.Compile(args[1])
	if err != nil {
		return err
	}
	var gotName, gotPicture string
	for _, p := range sc.people { // everybody sees the same
		err := host.Poll(ctx, func() (bool, error) {
			if gotName, gotPicture, err = p.Profile(ctx, sc.bot.id); err != nil {
				return false, err
			}
			return name.MatchString(gotName) && picture.MatchString(gotPicture), nil
		})
		if err != nil {
			return fmt.Errorf("the bot is called %q, its picture is %q: %w", gotName, gotPicture, err)
		}
		return nil
	}
	return fmt.Errorf("no person to see it: user comes first")
}

// doSetProfile gives the bot's account another name, and another picture if there is one.
func doSetProfile(ctx context.Context, sc *script, _ bool, args []string) error {
	of := "profile/" + url.PathEscape(sc.bot.id) + "/"
	if err := sc.asBot(ctx, http.MethodPut, of+"displayname", map[string]string{"displayname": args[0]}); err != nil ||
		len(args) == 1 {
		return err
	}
	return sc.asBot(ctx, http.MethodPut, of+"avatar_url", map[string]string{"avatar_url": args[1]})
}
