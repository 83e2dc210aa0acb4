package e2ee

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"maunium.net/go/mautrix/id"
)

// keeper is a proxy that adds fallback keys to Dendrite: it stores uploaded ones, returns
// them if there is no one-time key, and reports in /sync whether an unused one exists.
type keeper struct {
	at *url.URL

	mu      sync.Mutex
	fail    bool                       // reject uploads
	keeps   bool                       // false: store none and report none in /sync
	kept    map[string]json.RawMessage // by the device's access token: signed_curve25519:ID → key
	used    map[string]bool
	uploads int
	tokens  map[id.DeviceID]string
}

// bodyKey is the context key of a request's body.
type bodyKey struct{}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	needHome(t)
	to, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{keeps: true, kept: map[string]json.RawMessage{}, used: map[string]bool{}, tokens: map[id.DeviceID]string{}}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = k.answer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // the proxy parses the response
		body, err := io.ReadAll(r.Body)
		if err != nil || !k.upload(r, body) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, body)))
	}))
	t.Cleanup(server.Close)
	if k.at, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return k
}

// enter registers an account that uses this proxy.
func (k *keeper) enter(t *testing.T, name string) *peer {
	t.Helper()
	p := enter(t, name, func(c *Config) { c.Client.HomeserverURL = k.at })
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tokens[p.cli.DeviceID] = p.cli.AccessToken
	return p
}

func token(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// upload stores the fallback keys in a request; it returns false to reject them.
func (k *keeper) upload(r *http.Request, body []byte) bool {
	var req struct {
		Keys map[string]json.RawMessage `json:"fallback_keys"`
	}
	if strings.HasSuffix(r.URL.Path, "/keys/upload") && json.Unmarshal(body, &req) != nil {
		return false
	}
	if len(req.Keys) == 0 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uploads++
	if k.fail {
		return false
	}
	if k.keeps {
		k.kept[token(r)], _ = json.Marshal(req.Keys)
		k.used[token(r)] = false
	}
	return true
}

// answer adds fallback keys to a response.
func (k *keeper) answer(resp *http.Response) error {
	claim, sync := strings.HasSuffix(resp.Request.URL.Path, "/keys/claim"), strings.HasSuffix(resp.Request.URL.Path, "/sync")
	if !claim && !sync || resp.StatusCode != http.StatusOK {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		return err
	}
	resp.Body.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	if mine := token(resp.Request); sync {
		all["device_unused_fallback_key_types"] = json.RawMessage(`[]`)
		if k.kept[mine] != nil && !k.used[mine] {
			all["device_unused_fallback_key_types"] = json.RawMessage(`["signed_curve25519"]`)
		}
	} else if err := k.claimed(all, resp.Request.Context().Value(bodyKey{}).([]byte)); err != nil {
		return err
	}
	out, err := json.Marshal(all)
	if err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	resp.Header.Del("Content-Length")
	return nil
}

// claimed adds fallback keys for devices without one-time keys. k.mu is held.
func (k *keeper) claimed(all map[string]json.RawMessage, body []byte) error {
	var asked, keys struct {
		Keys map[id.UserID]map[id.DeviceID]json.RawMessage `json:"one_time_keys"`
	}
	if err := errors.Join(json.Unmarshal(body, &asked), json.Unmarshal(all["one_time_keys"], &keys.Keys)); err != nil {
		return err
	}
	for user, devices := range asked.Keys {
		for device := range devices {
			mine := k.tokens[device]
			if keys.Keys[user][device] != nil || k.kept[mine] == nil {
				continue
			}
			if keys.Keys[user] == nil {
				keys.Keys[user] = map[id.DeviceID]json.RawMessage{}
			}
			keys.Keys[user][device], k.used[mine] = k.kept[mine], true
		}
	}
	var err error
	all["one_time_keys"], err = json.Marshal(keys.Keys)
	return err
}

func (k *keeper) key(p *peer) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.kept[p.cli.AccessToken])
}

func (k *keeper) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.uploads
}
