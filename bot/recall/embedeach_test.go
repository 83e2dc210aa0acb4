package recall

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/recall/embed"
	"matrix-tui/state/memory"
)

// serveEmbeddings gives a memory the embeddings of a server with a script.
func serveEmbeddings(t *testing.T, key, script string) (*Memory, *agenttest.Server, *bytes.Buffer) {
	t.Helper()
	rules, err := agenttest.Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(rules, zerolog.Nop())
	model.RequireKey("the key")
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	client, err := embed.New(server.URL, key, "gemini-embedding-001")
	if err != nil {
		t.Fatal(err)
	}
	m := newMemory(t)
	m.Embeddings("gemini-embedding-001", client.Fetch)
	var log bytes.Buffer
	m.log = zerolog.New(&log)
	return m, model, &log
}

// withoutVectors is how many texts of the room wait for a vector.
func withoutVectors(t *testing.T, m *Memory) (n int) {
	t.Helper()
	err := m.with(t.Context(), "!r", func(x *memory.Index) error {
		of, err := x.Unembedded(t.Context(), m.embedder.model, 1000)
		n = len(of)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A text that the API refuses keeps no other from its vector, is sent once more at most, and turns nothing off.
func TestRefusedText(t *testing.T) {
	m, model, log := serveEmbeddings(t, "the key", "embeddings: {refuse: walrus}")
	for i := range 10 {
		learn(t, m, task(i, 0, fmt.Sprintf("task number %d about topic%d", i, i), "Done."))
	}
	learn(t, m, task(10, 0, "the walrus is grey", "Noted."))
	for range 2 * breakAfter {
		m.embedSoon("!r")
		embedNow(t, m)
	}
	if n := withoutVectors(t, m); n > 0 {
		t.Errorf("%d texts wait", n)
	}
	before := len(model.Requests())
	if k := m.Find(t.Context(), "!r", "alice", "", "which colour is the walrus?"); !strings.Contains(fmt.Sprint(k.Retrieved), "is grey") {
		t.Errorf("words find %q", k.Retrieved)
	}
	learn(t, m, task(11, 0, "the ferret is brown", "Noted."))
	embedNow(t, m)
	if !m.embedder.batches.on(time.Now()) || withoutVectors(t, m) > 0 {
		t.Error("other texts get no vectors any more")
	}
	for _, r := range model.Requests()[before:] {
		if strings.HasPrefix(r.Text, "batch") && strings.Contains(r.Text, "walrus") && r.Status != 400 {
			t.Errorf("the text was sent again: %+v", r)
		}
	}
	if strings.Contains(log.String(), "walrus") || !strings.Contains(log.String(), `"texts":`) {
		t.Errorf("log: %s", log)
	}
}

// An API that refuses everything is turned off as always, and its refusal says nothing about the texts.
func TestRefusedKey(t *testing.T) {
	m, model, _ := serveEmbeddings(t, "another key", "{}")
	learn(t, m, task(1, 0, "my car is red", "Noted."))
	waiting := withoutVectors(t, m)
	for range 2 * breakAfter {
		m.embedSoon("!r")
		embedNow(t, m)
	}
	if m.embedder.batches.on(time.Now()) {
		t.Error("it goes on")
	}
	if n := withoutVectors(t, m); n != waiting || n == 0 {
		t.Errorf("%d texts wait, want %d", n, waiting)
	}
	if n := len(model.Requests()); n > 0 {
		t.Errorf("%d requests with a wrong key", n)
	}
}
