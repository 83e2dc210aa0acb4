package chattest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/bot/person"
)

// doToken logs in as the bot, as an operator does who wants a token for it; the
// session stays.
func doToken(ctx context.Context, sc *script, _ bool, _ []string) error {
	if err := sc.account(ctx); err != nil {
		return err
	}
	token, err := person.Token(ctx, person.Config{
		Homeserver: sc.home.url(), Name: sc.bot.localpart, Password: sc.bot.password, Log: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	sc.token = token
	sc.ts.Setenv("token", token)
	return nil
}

// doDeviceless puts something before the homeserver that leaves the device out
// of what it says of a token: so it is with those of application services.
func doDeviceless(_ context.Context, sc *script, _ bool, _ []string) error {
	to, err := url.Parse(sc.home.url())
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if !strings.HasSuffix(resp.Request.URL.Path, "/account/whoami") {
			return nil
		}
		var who map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&who); err != nil {
			return err
		}
		resp.Body.Close()
		delete(who, "device_id")
		out, err := json.Marshal(who)
		if err != nil {
			return err
		}
		resp.Body = io.NopCloser(bytes.NewReader(out))
		resp.Header.Set("Content-Length", strconv.Itoa(len(out)))
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // the answer is read here
		proxy.ServeHTTP(w, r)
	}))
	sc.after = append(sc.after, func() {
		server.CloseClientConnections()
		server.Close()
	})
	sc.bot.set["MATRIX_HOMESERVER"] = server.URL
	return nil
}
