package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/agent/gemini"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/sandboxtest"
)

// real is a room's container with the real Gemini CLI, behind the real gateway; only the model is scripted.
type real struct {
	rooms     *sandbox.Rooms
	spec      sandbox.Spec
	container *sandbox.Container
	door      *gateway.Gateway
	config    gateway.Config
	api       gemini.RouteConfig
	route     *gemini.Route
	model     *agenttest.Server
	agent     *Gemini
}

const testKey = "the-real-key-of-the-test"

// newReal creates a container that is removed, with its volumes, after the test.
func newReal(t *testing.T) *real { t.Helper(); return newRealWith(t, 0) }

// newRealWith limits the container's memory, in bytes.
func newRealWith(t *testing.T, memory int64) *real {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	model := agenttest.New(script(t, "default: {say: 'scripted answer'}"), zerolog.Nop())
	model.RequireKey(testKey)
	api := httptest.NewServer(model)
	t.Cleanup(func() { model.Close(); api.Close() })
	upstream, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &real{model: model, agent: &Gemini{Log: log},
		config: gateway.Config{Dir: sandboxtest.GatewayDir(t), Log: log},
		api:    gemini.RouteConfig{Base: upstream, Key: testKey, Tools: []string{"url_context"}, Log: log},
		spec:   sandbox.Spec{Room: sandboxtest.Room("agent"), Memory: memory}}
	r.rooms, r.spec.Image = sandboxtest.Connect(t, r, log)
	r.openDoor(t)
	t.Cleanup(r.closeDoor)
	r.container = sandboxtest.Ensure(t, r.rooms, r.spec)
	return r
}

// openDoor stands for a bot that starts, closeDoor for one that dies.
func (r *real) openDoor(t *testing.T) {
	t.Helper()
	r.door = gateway.New(r.config)
	r.route = gemini.NewRoute(r.api, r.door)
	r.route.Begin(r.spec.Room, "test", DefaultModel)
	if _, err := r.door.Open(r.spec.Room); err != nil {
		t.Fatal(err)
	}
}

// Folder and Renew are those of the gateway that is open.
func (r *real) Folder(room string) string { return r.door.Folder(room) }

// Renew implements sandbox.Doors.
func (r *real) Renew(room string) error { return r.door.Renew(room) }

func (r *real) closeDoor() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.door.Close(ctx)
}

func script(t testing.TB, yaml string) *agenttest.Script {
	t.Helper()
	s, err := agenttest.Load([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (r *real) answer(t *testing.T, yaml string) { t.Helper(); r.model.SetScript(script(t, yaml)) }

// do runs a task that must start and end without an error.
func (r *real) do(t *testing.T, task Task) (Outcome, []Event) {
	t.Helper()
	if task.Run == "" {
		task.Run = rand.Text()
	}
	if task.Session == "" {
		task.Session = uuid()
	}
	var events []Event
	o, err := r.agent.Run(t.Context(), r.container, task, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	return o, events
}

// leave starts a task and cancels it at the first tool call.
func (r *real) leave(t *testing.T, task Task) (seen []Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := r.agent.Run(ctx, r.container, task, func(e Event) {
		seen = append(seen, e)
		if e.Kind == EventTool {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v, want context.Canceled", err)
	}
	return seen
}

func (r *real) sh(t *testing.T, command string) string {
	t.Helper()
	res, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", command}})
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Stdout) + string(res.Stderr)
}

// asked waits until the model has received n requests since from.
func (r *real) asked(t *testing.T, from, n int) {
	t.Helper()
	until(t, fmt.Sprintf("the model received %d requests", n), func() bool { return len(r.questions(from)) >= n })
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited five minutes until %s", what)
		}
	}
}

// questions returns the requests to the model, starting with number from.
func (r *real) questions(from int) []agenttest.Request {
	var all []agenttest.Request
	for _, q := range r.model.Requests() {
		if q.Seq > from && strings.HasPrefix(q.Method, "streamGenerate") {
			all = append(all, q)
		}
	}
	return all
}

func (r *real) last() int {
	if all := r.model.Requests(); len(all) > 0 {
		return all[len(all)-1].Seq
	}
	return 0
}
