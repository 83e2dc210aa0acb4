package bottest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest/baddisk"
	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
	"matrix-tui/bot/bottest/proxy"
	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// script is one running conversation script: its people, its rooms, its bot.
type script struct {
	suite *suite
	ts    *testscript.TestScript // of the current verb
	tb    testing.TB
	work  string // $WORK, the folder of the script's own files
	dir   string // short folder for sockets, logs and the state folder
	name  string // of the script, valid in a localpart
	wait  time.Duration

	encrypted bool // all rooms are encrypted

	home    *host.Homeserver // the suite's, or the script's own
	ownHome bool
	proxy   *proxy.Proxy // nil: the bot talks to the homeserver directly
	lied    bool         // the proxy has told lies
	service *host.PodmanService
	machine *machine // nil: the bot runs on the test's own host
	model   *agenttest.Server
	api     *httptest.Server
	mark    int // newest request that model-saw has checked
	key     string
	refused []*regexp.Regexp // what the model will refuse

	drill  *drill // nil: the bot is not killed by the number of its effects
	bot    *bot
	people map[string]*person.Person
	rooms  map[string]*room

	elements map[string]*elementUser // people with a client on Element's engine
	browsers map[string]*http.Client // people's, by name: see doPage

	mu         sync.Mutex
	containers []string            // every container name that the script may have created
	expected   map[string]bool     // person+event pairs that an expect has matched
	said       map[string][]string // room ID → events that the bot must finish
	mayBeLost  map[string]string   // room ID → the bot's last event when the homeserver was started: a restored one may lack it
	noted      map[string]string   // remembered processes and containers
	killed     []string            // parts of the cluster
	operated   bool                // the script has used kubectl
	tmpfs      bool
	disk       *baddisk.Disk // below the state folder, if it can fail

	token     string // of the bot, if the script created one
	ownPolicy bool   // the script sets policy.yaml itself
	smallDisk bool   // the releases are on a disk of their own
	mayPanic  bool   // a release of the script panics by design
}

// room is a room of the script.
type room struct {
	id, by string // by is the person who created it
	clear  bool   // in clear, even if the script runs in encrypted rooms
}

type scriptKey struct{}

// setup creates the surroundings of one script.
func (s *suite) setup(env *testscript.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	sc, err := s.newScript(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
	if err != nil {
		return err
	}
	if strings.HasSuffix(sc.name, synapseName) {
		sc.home = s.synapse
	}
	sc.work = env.WorkDir
	sc.tb, _ = env.T().(testing.TB)
	env.Values[scriptKey{}] = sc
	env.Defer(sc.end)
	env.Setenv("state", sc.state())
	env.Setenv("image", s.image)
	if err := sc.home.Start(ctx); err != nil {
		return err
	}
	return sc.service.Start(ctx)
}

// newScript prepares a script; of its processes only the model server is running.
func (s *suite) newScript(name string) (*script, error) {
	sc := &script{
		suite: s, home: s.home, wait: 60 * time.Second,
		encrypted: allEncrypted() || strings.Contains(name, doubleName),
		dir:       filepath.Join(s.root, fmt.Sprintf("s%d", s.counter.Add(1))),
		name:      regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"),
		key:       "AIza-secret-" + random(),
		people:    map[string]*person.Person{},
		rooms:     map[string]*room{},
		elements:  map[string]*elementUser{},
		expected:  map[string]bool{},
		said:      map[string][]string{},
		noted:     map[string]string{},
	}
	if err := os.MkdirAll(filepath.Join(sc.dir, "state"), 0o700); err != nil {
		return nil, fmt.Errorf("create folder of script %s: %w", name, err)
	}
	rules, err := agenttest.Load([]byte("default: {say: 'scripted answer'}\n"))
	if err != nil {
		return nil, err
	}
	sc.model = agenttest.New(rules, zerolog.Nop())
	sc.model.RequireKey(sc.key)
	sc.api = httptest.NewServer(sc.model)
	sc.service = &host.PodmanService{Socket: filepath.Join(sc.dir, "podman.sock"),
		Log: filepath.Join(sc.dir, "podman.log"), Runtime: s.runtimePath()}
	sc.bot = &bot{
		log: filepath.Join(sc.dir, "bot.log"), localpart: "bot-" + sc.name,
		password: "pw-" + random(), set: map[string]string{},
	}
	return sc, sc.prepareDrill(s.drills[name])
}

func (sc *script) state() string {
	if sc.machine != nil {
		return filepath.Join(sc.machine.home, "state")
	}
	return filepath.Join(sc.dir, "state")
}

// end stops everything in the script, prints a report if it failed, and removes what it created.
func (sc *script) end() {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	if sc.tb != nil && !sc.tb.Failed() {
		if err := sc.checkEncrypted(ctx); err != nil {
			sc.tb.Error(err)
		}
		if err := sc.checkRefusals(); err != nil {
			sc.tb.Error(err)
		}
	}
	if sc.drill != nil { // it must not start again
		_ = os.Remove(sc.drill.file("at"))
	}
	sc.machine.keepLog(ctx, sc.bot.log)
	if sc.tb != nil && sc.tb.Failed() {
		sc.report(ctx)
	}
	_ = sc.bot.proc.Signal(ctx, syscall.SIGKILL)
	if err := sc.machine.end(ctx); err != nil && sc.tb != nil {
		sc.tb.Errorf("end the machine: %v", err)
	}
	sc.inspect()
	if err := sc.clear(ctx); err != nil && sc.tb != nil {
		sc.tb.Errorf("clean up: %v", err)
	}
}

// clear ends everything in the script and removes what it created.
func (sc *script) clear(ctx context.Context) error {
	err := sc.bot.proc.Signal(ctx, syscall.SIGKILL)
	sc.endReleases()
	for _, p := range sc.people {
		p.Close()
	}
	for _, e := range sc.elements {
		e.Close()
	}
	if sc.api != nil {
		sc.model.Close()
		sc.api.CloseClientConnections()
		sc.api.Close()
	}
	sc.proxy.Close()
	if sc.service != nil {
		err = errors.Join(err, sc.service.Stop(ctx))
	}
	if sc.ownHome {
		err = errors.Join(err, sc.home.Stop(ctx))
	}
	err = errors.Join(err, sc.mend(ctx))
	if os.Getenv("MATRIX_TUI_KEEP") == "" {
		err = errors.Join(err, host.RemoveContainers(ctx, sc.containers), sc.removeImages(ctx))
		if kube() != "" && len(sc.containers) > 0 {
			err = errors.Join(err, sc.removePods(ctx))
		}
		if sc.smallDisk {
			err = errors.Join(err, syscall.Unmount(sc.base(), syscall.MNT_DETACH))
		}
		if sc.tmpfs {
			err = errors.Join(err, syscall.Unmount(sc.state(), syscall.MNT_DETACH))
		}
		err = errors.Join(err, sc.disk.Unmount(), os.RemoveAll(sc.dir))
	}
	return err
}

// report prints what helps to understand a failure.
func (sc *script) report(ctx context.Context) {
	if last := sc.home.Died(); last != "" {
		sc.tb.Logf("---- THE HOMESERVER HAS DIED\n%s", last)
	}
	if sc.drill != nil {
		sc.tb.Logf("---- the bot died before %q", sc.drill.died())
	}
	sc.tb.Logf("---- bot's log (end)\n%s", host.Tail(sc.bot.log, 12000))
	for name, r := range sc.rooms {
		var lines []string
		if p := sc.people[r.by]; p != nil {
			msgs, err := p.History(ctx, r.id)
			if err != nil {
				msgs = p.Messages(r.id)
			}
			for _, m := range msgs[max(0, len(msgs)-80):] {
				lines = append(lines, m.Time.Format("15:04:05.000 ")+cut(m.String(), 300))
			}
		}
		sc.tb.Logf("---- room %s %s\n%s", name, r.id, strings.Join(lines, "\n"))
	}
	for _, r := range sc.model.Requests() {
		sc.tb.Logf("---- model %s %s of %s rule %d status %d user=%q tool=%q", r.Time.Format("15:04:05.000"), r.Method,
			r.Model, r.Rule, r.Status, cut(r.User, 300), cut(r.Tool, 200))
	}
	if len(sc.containers) > 0 {
		argv := []string{"ps", "--all"}
		for _, name := range sc.containers {
			argv = append(argv, "--filter", "name="+name)
		}
		stdout, stderr, _, _ := host.Podman(ctx, argv...)
		sc.tb.Logf("---- podman ps\n%s%s", stdout, stderr)
	}
}

// container records that a room's container belongs to the script and returns its name. The list on disk is for the
// sweep after a killed run.
func (sc *script) container(roomID string) string {
	name := sandbox.NameFor(roomID)
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if !slices.Contains(sc.containers, name) {
		sc.containers = append(sc.containers, name, "sandbox-"+roomname.Whole(roomID)) // the second if the first is taken
		_ = os.WriteFile(filepath.Join(sc.dir, "containers"), []byte(strings.Join(sc.containers, "\n")), 0o600)
	}
	return name
}

// cut shortens a text for the log.
func cut(s string, n int) string {
	s = strings.ReplaceAll(s, "\n", "⏎")
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

func random() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}
