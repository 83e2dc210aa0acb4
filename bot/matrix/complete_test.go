package matrix

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// An answer without what it must contain counts as none: the message is not taken as sent, the room not as empty.
func TestIncompleteAnswers(t *testing.T) {
	body := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer server.Close()
	a, err := New(Config{Homeserver: server.URL, User: "@bot:here", Password: "word", StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/_matrix/client/v3/keys/signatures/upload", "/_matrix/client/v3/keys/device_signing/upload"} {
		body = `{}` // is all that they return
		resp, err := a.client.Client.Post(server.URL+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_ = resp.Body.Close()
	}
	for name, c := range map[string]struct {
		do   func(context.Context) error
		good string
	}{
		"send": {func(ctx context.Context) error {
			event, err := a.Messages.SendClear(ctx, state.Message{Room: "!den:here", Txn: "txn"})
			if err == nil && event != "$1" {
				t.Errorf("sent as %q", event)
			}
			return err
		}, `{"event_id":"$1"}`},
		"redact": {func(ctx context.Context) error {
			_, err := a.Messages.Send(ctx, state.Message{Room: "!den:here", Txn: "txn", Relation: state.Redaction, Target: "$1"})
			return err
		}, `{"event_id":"$2"}`},
		"join":    {func(ctx context.Context) error { return a.Rooms.Join(ctx, "!den:here") }, `{"room_id":"!den:here"}`},
		"members": {func(ctx context.Context) error { _, err := a.Rooms.Members(ctx, "!den:here"); return err }, `{"joined":{"@ann:here":{}}}`},
		"member": {func(ctx context.Context) error {
			in, err := a.Rooms.HasJoined(ctx, "!den:here", "@ann:here")
			if err == nil && !in {
				t.Error("ann is not in the room")
			}
			return err
		}, `{"membership":"join"}`},
		"rooms": {func(ctx context.Context) error { _, err := a.Rooms.Joined(ctx); return err }, `{"joined_rooms":[]}`},
		"messages": {func(ctx context.Context) error {
			_, _, err := a.Messages.Page(ctx, "!den:here", "t", 10)
			return err
		}, `{"chunk":[],"end":"u"}`},
		"upload": {func(ctx context.Context) error {
			_, err := a.Messages.Upload(ctx, strings.NewReader("text"), event.FileInfo{Size: 4, MimeType: "text/plain"}, "", false)
			return err
		}, `{"content_uri":"mxc://here/1"}`},
		"login": {func(ctx context.Context) error { _, err := a.tryLogin(ctx, session{}); return err }, `{"access_token":"t","user_id":"@bot:here","device_id":"D"}`},
	} {
		for _, bad := range []string{`{}`, `{"event_id":null}`, `{"event_id":""}`, `[]`, `<html>`, ``} {
			body = bad
			a.bearer.set(session{})
			if err := c.do(t.Context()); !Transient(err) {
				t.Errorf("%s, answered with %s: %v", name, bad, err)
			}
		}
		body = c.good
		if err := c.do(t.Context()); err != nil {
			t.Errorf("%s, answered with %s: %v", name, c.good, err)
		}
	}
}
