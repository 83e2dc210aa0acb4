package tools

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/agent/agenttest"
	"matrix-tui/agent/gemini"
	"matrix-tui/bot/recall"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/sandboxtest"
)

// The real CLI offers the tools to the model and calls them, without an approval. Only calls reach the server: the start
// of a run does not wait for it.
func TestRealTools(t *testing.T) {
	script, err := agenttest.Load([]byte(`
rules:
  - {when: 'go', call: [{name: mcp_room_memory_search, args: {query: pelican}}]}
  - {tool: '^mcp_room_memory_search .*code word is pelican', say: 'found'}
`))
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(script, zerolog.Nop())
	api := httptest.NewServer(model)
	t.Cleanup(func() { model.Close(); api.Close() })
	upstream, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{Room: sandboxtest.Room("tools")}
	r := open(t)
	r.learn(t, spec.Room, 1, "remember that the harbour's code word is pelican", "Noted.")

	var requests atomic.Int64
	door := gateway.New(gateway.Config{Dir: sandboxtest.GatewayDir(t), Log: zerolog.Nop()})
	route := gemini.NewRoute(gemini.RouteConfig{Base: upstream, Key: "k", Log: zerolog.Nop()}, door)
	serve := Handler(r.memory, zerolog.Nop())
	door.Mount(agent.ToolsPath, func(room string) http.Handler {
		requests.Add(1)
		return serve(room)
	})
	route.Begin(spec.Room, "run", agent.DefaultModel)
	if _, err = door.Open(spec.Room); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Shut(spec.Room) })
	rooms, image := sandboxtest.Connect(t, door, zerolog.Nop())
	spec.Image = image
	container := sandboxtest.Ensure(t, rooms, spec)

	list, err := List(t.Context(), &recall.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	g := &agent.Gemini{Offers: agent.Offers{Tools: list, Remembers: true}, Log: zerolog.Nop()}
	out, err := g.Run(t.Context(), container, agent.Task{Run: rand.Text(), Session: uuid.NewString(), Prompt: "go", Approvals: []string{"git push"}}, nil)
	if err != nil || out.Ended != agent.Completed || out.Text != "found" || out.Tools["memory_search"] != 1 || len(out.Calls) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the server received %d requests for one call", n)
	}
	if asked := model.Requests(); len(asked) == 0 || !strings.Contains(asked[0].Text, "call `mcp_room_memory_search`") {
		t.Error("the model was not told to search")
	}
}
