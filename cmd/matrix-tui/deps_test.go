package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "matrix-tui"

// arrows lists, for each package of this module, the packages that it may import. A package that is missing here has no
// place in the design yet.
var arrows = map[string][]string{
	"agent":                 {"sandbox"},
	"agent/agenttest":       {},
	"agent/gemini":          {"sandbox/gateway"},
	"bot":                   {"agent", "agent/gemini", "bot/alert", "bot/budget", "bot/capacity", "bot/clock", "bot/command", "bot/container", "bot/decide", "bot/matrix", "bot/matrix/e2ee", "bot/media", "bot/membership", "bot/metrics", "bot/models", "bot/outbox", "bot/pending", "bot/policy", "bot/presence", "bot/progress", "bot/proof", "bot/queue", "bot/recall", "bot/roster", "bot/schedule", "bot/status", "bot/stop", "bot/task", "bot/text", "bot/timeline", "bot/turn", "bot/update", "bot/upgrade", "sandbox", "sandbox/gateway", "state", "state/execution", "workspace", "bot/admit"},
	"bot/alert":             {"bot/capacity", "bot/matrix", "bot/roster", "bot/text", "state"},
	"bot/admit":             {"bot/alert", "bot/command", "bot/matrix", "bot/matrix/e2ee", "bot/outbox", "bot/pending", "bot/policy", "bot/presence", "bot/proof", "bot/queue", "bot/roster", "bot/text", "bot/timeline", "bot/upgrade", "state"},
	"bot/api":               {"bot", "state/execution"},
	"bot/budget":            {"agent", "agent/gemini", "bot/policy", "bot/recall", "bot/text", "state"},
	"bot/container":         {"agent", "bot/capacity", "bot/models", "bot/policy", "bot/queue", "sandbox", "sandbox/gateway", "state", "workspace"},
	"bot/progress":          {"agent", "bot/text"},
	"bot/pending":           {},
	"bot/capacity":          {"bot/alert", "bot/text", "sandbox", "state"},
	"bot/command":           {"agent/gemini", "bot/alert", "bot/matrix", "bot/models", "bot/outbox", "bot/policy", "bot/proof", "bot/recall", "bot/roster", "bot/schedule", "bot/status", "bot/stop", "bot/task", "bot/text", "bot/update", "sandbox", "state"},
	"bot/clock":             {"state"},
	"bot/crash":             {},
	"bot/bottest":           {"agent/agenttest", "bot/bottest/baddisk", "bot/bottest/element", "bot/bottest/host", "bot/bottest/person", "bot/bottest/proxy", "sandbox", "sandbox/sandboxtest", "state"}, // only names from sandbox, and where a door may be; from state, what a script writes into a journal
	"bot/bottest/baddisk":   {},
	"bot/bottest/element":   {"bot/bottest/host"},
	"bot/bottest/host":      {},
	"bot/bottest/person":    {},
	"bot/bottest/proxy":     {},
	"bot/matrix":            {"bot/matrix/decode", "bot/matrix/e2ee", "bot/matrix/oauth", "bot/text", "state"},
	"bot/matrix/decode":     {},
	"bot/matrix/e2ee":       {"bot/matrix/decode"},
	"bot/matrix/oauth":      {},
	"bot/media":             {"bot/matrix", "bot/text", "sandbox"},
	"bot/membership":        {"bot/matrix", "bot/outbox", "bot/policy", "bot/presence", "bot/roster", "bot/text", "bot/turn", "bot/upgrade", "sandbox", "state"},
	"bot/metrics":           {"agent", "state"},
	"bot/outbox":            {"bot/matrix", "bot/queue", "bot/task", "bot/text", "state"},
	"bot/policy":            {},
	"bot/proof":             {"bot/matrix", "bot/policy", "bot/task", "state"},
	"bot/task":              {"agent", "agent/gemini", "bot/budget", "bot/capacity", "bot/container", "bot/media", "bot/models", "bot/pending", "bot/policy", "bot/presence", "bot/progress", "bot/queue", "bot/recall", "bot/text", "sandbox", "sandbox/gateway", "state", "state/execution", "workspace"},
	"bot/models":            {"agent/gemini"},
	"bot/queue":             {},
	"bot/presence":          {"bot/matrix", "bot/queue", "sandbox/gateway", "state"},
	"bot/recall/embed":      {"agent/gemini", "state/memory"},
	"bot/recall":            {"agent", "bot/text", "sandbox", "state", "state/memory", "workspace"},
	"bot/recall/tools":      {"bot/recall", "state/memory"},
	"bot/roster":            {"bot/matrix", "bot/policy"},
	"bot/text":              {},
	"bot/timeline":          {"bot/matrix", "state"},
	"bot/decide":            {"agent", "bot/command", "bot/media", "bot/outbox", "bot/policy", "bot/proof", "bot/recall", "bot/stop", "bot/task", "bot/turn", "state", "state/execution", "bot/admit"},
	"bot/schedule":          {"bot/policy", "bot/task", "bot/text", "state"},
	"bot/schedule/tools":    {"bot/schedule", "bot/task", "state"},
	"bot/status":            {"bot/task", "bot/turn", "state"},
	"bot/stop":              {"bot/container", "bot/outbox", "bot/task", "bot/text", "bot/turn", "sandbox", "state"},
	"bot/turn":              {"bot/queue", "bot/task", "state"},
	"bot/update":            {"bot/text"},
	"bot/upgrade":           {"bot/alert", "bot/matrix", "bot/outbox", "bot/policy", "bot/queue", "bot/recall", "bot/roster", "bot/text", "bot/turn", "sandbox/gateway", "state"},
	"bot/web":               {"bot", "bot/text", "state", "state/execution"},
	"cmd/bench":             {"agent", "agent/gemini", "agent/agenttest", "bot/bottest", "bot/bottest/person", "bot/capacity", "sandbox", "sandbox/gateway", "state", "state/execution"},
	"cmd/boxinit":           {"sandbox/boxinit"},
	"cmd/soak":              {"agent/agenttest", "bot/bottest", "bot/bottest/person"},
	"cmd/demo":              {"agent/agenttest", "bot/bottest/person"},
	"cmd/matrix-tui":        {"cmd/matrix-tui/account", "cmd/matrix-tui/backup", "cmd/matrix-tui/cli", "cmd/matrix-tui/doctor", "cmd/matrix-tui/engine", "cmd/matrix-tui/memories", "cmd/matrix-tui/releases", "cmd/matrix-tui/rooms", "cmd/matrix-tui/serve"},
	"cmd/scripted-model":    {"agent/agenttest"},
	"deploy/release":        {"bot/crash", "bot/update", "state"},
	"sandbox":               {"sandbox/boxinit"},
	"sandbox/kube":          {"sandbox", "sandbox/boxinit", "sandbox/boxinit/relay", "sandbox/gateway"},
	"sandbox/boxinit":       {"sandbox/boxinit/relay"},
	"sandbox/boxinit/relay": {},
	"sandbox/gateway":       {},
	"sandbox/sandboxtest":   {"sandbox"},
	"state":                 {},
	"state/archive":         {},
	"state/clean":           {},
	"state/damage":          {},
	"state/disk":            {},
	"state/event":           {},
	"state/execution":       {},
	"state/keyed":           {},
	"state/memory":          {},
	"state/retry":           {},
	"state/roomname":        {},
	"state/scrub":           {},
	"state/sentence":        {},
	"state/sqlitefile":      {},
	"state/transcripts":     {},
	"workspace":             {},

	"cmd/matrix-tui/account":  {"bot/matrix", "bot/matrix/e2ee", "bot/matrix/oauth", "cmd/matrix-tui/cli", "cmd/matrix-tui/settings", "state"},
	"cmd/matrix-tui/backup":   {"bot/matrix/e2ee", "cmd/matrix-tui/cli", "cmd/matrix-tui/engine", "cmd/matrix-tui/settings", "sandbox", "state", "state/memory"},
	"cmd/matrix-tui/cli":      {"bot/matrix", "cmd/matrix-tui/settings"},
	"cmd/matrix-tui/engine":   {"cmd/matrix-tui/cli", "cmd/matrix-tui/settings", "sandbox", "sandbox/gateway", "sandbox/kube"},
	"cmd/matrix-tui/clitest":  {"cmd/matrix-tui/cli", "state"},
	"cmd/matrix-tui/control":  {"bot", "bot/update", "deploy/release"},
	"cmd/matrix-tui/doctor":   {"bot/api", "bot/capacity", "bot/matrix", "bot/matrix/e2ee", "bot/models", "bot/policy", "bot/text", "cmd/matrix-tui/cli", "cmd/matrix-tui/engine", "cmd/matrix-tui/rooms", "cmd/matrix-tui/settings", "sandbox", "agent/gemini", "sandbox/gateway", "sandbox/kube", "state", "state/memory"},
	"cmd/matrix-tui/memories": {"bot/recall", "bot/recall/embed", "cmd/matrix-tui/cli", "cmd/matrix-tui/rooms", "cmd/matrix-tui/settings", "state", "state/memory"},
	"cmd/matrix-tui/releases": {"bot/update", "cmd/matrix-tui/cli", "cmd/matrix-tui/control", "cmd/matrix-tui/settings", "deploy/release", "state"},
	"cmd/matrix-tui/rooms":    {"cmd/matrix-tui/cli", "cmd/matrix-tui/control", "cmd/matrix-tui/engine", "cmd/matrix-tui/settings", "sandbox", "state", "state/memory"},
	"cmd/matrix-tui/serve":    {"agent", "bot", "bot/api", "bot/capacity", "bot/matrix/e2ee", "bot/models", "bot/policy", "bot/recall/tools", "bot/schedule/tools", "bot/web", "cmd/matrix-tui/cli", "cmd/matrix-tui/control", "cmd/matrix-tui/doctor", "cmd/matrix-tui/engine", "cmd/matrix-tui/memories", "cmd/matrix-tui/releases", "cmd/matrix-tui/settings", "deploy/release", "sandbox", "agent/gemini", "sandbox/gateway", "sandbox/kube", "state", "state/memory"},
	"cmd/matrix-tui/settings": {"bot/matrix/e2ee", "bot/policy", "bot/text", "sandbox"},
	"bot/bottest/oauthserver": {},
}

// leaves are the packages that every other one may import. They import nothing of ours but each other.
var leaves = []string{"bot/crash", "state/archive", "state/clean", "state/damage", "state/disk", "state/event", "state/keyed", "state/retry", "state/roomname", "state/scrub", "state/sentence", "state/sqlitefile", "state/transcripts"}

// heavy are the modules that only a few packages may import, by path prefix.
var heavy = map[string][]string{
	"cloud.google.com/go/ai/":          {"agent/agenttest", "cmd/scripted-model"},
	"github.com/containers/podman/":    {"sandbox"},
	"github.com/coreos/go-systemd/":    {"cmd/matrix-tui/serve"},
	"github.com/goccy/go-yaml":         {"bot/policy"},
	"github.com/hanwen/go-fuse/":       {"bot/bottest/baddisk"},
	"go.podman.io/":                    {"sandbox"},
	"k8s.io/":                          {"sandbox/kube"},
	"golang.org/x/oauth2":              {"bot/matrix", "bot/matrix/oauth"},
	"maunium.net/go/mautrix":           {"bot/bottest", "bot/bottest/person", "bot/matrix", "bot/matrix/e2ee", "bot/media"},
	"go.mau.fi/util":                   {"bot/matrix/e2ee"},
	"github.com/prometheus/":           {"bot", "bot/api", "bot/metrics"},
	"github.com/modelcontextprotocol/": {"bot/recall/tools", "bot/schedule/tools"},
}

// light must not depend on heavy modules even indirectly.
var light = []string{"state", "workspace", "agent/agenttest", "sandbox/gateway", "sandbox/boxinit", "bot/bottest/person", "cmd/boxinit", "cmd/scripted-model"}

// listed is the output of `go list` for a package.
type listed struct {
	ImportPath                               string
	Imports, TestImports, XTestImports, Deps []string
	GoFiles                                  []string
	Standard                                 bool
	Doc, Dir                                 string
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps,Standard,Doc,Dir,GoFiles"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// inside returns a package's folder in the module.
func inside(importPath string) (folder string, ok bool) {
	return strings.CutPrefix(importPath, module+"/")
}

func TestArrows(t *testing.T) {
	packages := goList(t, "./...")
	if len(packages) < len(arrows) {
		t.Errorf("there are only %d packages, but %d in the table", len(packages), len(arrows))
	}
	for _, p := range packages {
		folder, _ := inside(p.ImportPath)
		allowed, drawn := arrows[folder]
		if !drawn {
			t.Errorf("package %s is not in the table: add it to arrows, with what it may import", folder)
		}
		if p.Doc == "" {
			t.Errorf("package %s does not say what it is for", folder)
		}
		for _, imported := range p.Imports {
			if to, ours := inside(imported); ours && !slices.Contains(allowed, to) && !slices.Contains(leaves, to) {
				t.Errorf("%s imports %s: not allowed by arrows", folder, to)
			}
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if to, ours := inside(imported); ours && strings.HasPrefix(to, "cmd/") && !within(to, "cmd/matrix-tui", folder) {
				t.Errorf("%s imports %s: nothing imports a command", folder, to)
			}
			for prefix, importers := range heavy {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(importers, folder) {
					t.Errorf("%s imports %s: only %s may", folder, imported, strings.Join(importers, ", "))
				}
			}
		}
	}
}

// within reports whether a package is below a command, and belongs to it as the other one does.
func within(folder, command, other string) bool {
	return strings.HasPrefix(folder, command+"/") && strings.HasPrefix(other, command)
}

// testOnly are the packages, with everything below them, that no program of a release may contain.
var testOnly = []string{"agent/agenttest", "bot/bottest", "cmd/matrix-tui/clitest", "sandbox/sandboxtest"}

func TestReleasesHoldNothingForTests(t *testing.T) {
	for _, p := range goList(t, "-deps", "./cmd/matrix-tui", "./cmd/boxinit") {
		folder, _ := inside(p.ImportPath)
		for _, test := range testOnly {
			if folder == test || strings.HasPrefix(folder, test+"/") {
				t.Errorf("a program of a release contains %s", folder)
			}
		}
	}
}

// Two ends that share code share bugs: the test client contains nothing of the bot's side of Matrix.
func TestTestsShareNothingWithTheBot(t *testing.T) {
	for _, p := range goList(t, "-deps", "./bot/bottest/...") {
		folder, ours := inside(p.ImportPath)
		if ours && (folder == "bot" || strings.HasPrefix(folder, "bot/")) && folder != "bot/bottest" && folder != "bot/crash" && !strings.HasPrefix(folder, "bot/bottest/") {
			t.Errorf("bot/bottest depends on %s", folder)
		}
	}
}

func TestLightPackagesStayLight(t *testing.T) {
	var patterns []string
	for _, folder := range light {
		patterns = append(patterns, module+"/"+folder)
	}
	for _, p := range goList(t, patterns...) {
		folder, _ := inside(p.ImportPath)
		if len(p.Deps) == 0 {
			t.Errorf("go list reports no dependencies of %s", folder)
		}
		for _, dep := range p.Deps {
			for prefix, importers := range heavy {
				if strings.HasPrefix(dep, prefix) && !slices.Contains(importers, folder) && !personNeeds(folder, dep) {
					t.Errorf("%s depends on %s", folder, dep)
				}
			}
		}
	}
	t.Run("boxinit", func(t *testing.T) {
		for _, p := range goList(t, "-deps", "./cmd/boxinit") {
			if !p.Standard && !strings.HasPrefix(p.ImportPath, module+"/") && !strings.HasPrefix(p.ImportPath, "golang.org/x/sys/") {
				t.Errorf("boxinit, which is in every container, depends on %s", p.ImportPath)
			}
		}
	})
}

// personNeeds: mautrix brings its own helpers along.
func personNeeds(folder, dep string) bool {
	return folder == "bot/bottest/person" && strings.HasPrefix(dep, "go.mau.fi/util")
}

func TestTopLevel(t *testing.T) {
	var strangers []string
	for _, name := range topLevel(t) {
		known := []string{"agent", "bot", "cmd", "deploy", "sandbox", "state", "workspace", "go.mod", "go.sum", "README.md"}
		if ok, _ := path.Match("LICENSE*", name); !ok && !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			strangers = append(strangers, name)
		}
	}
	if diff := cmp.Diff([]string(nil), strangers); diff != "" {
		t.Errorf("unexpected entries at the top level (-want +got):\n%s", diff)
	}
}

// topLevel returns the entries at the project's top: tracked files in a git checkout (conmon, for example, leaves files
// in its working directory), everything in a bare copy.
func topLevel(t *testing.T) (names []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	if out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-tree", "--name-only", "HEAD").Output(); err == nil {
		return strings.Fields(string(out))
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
