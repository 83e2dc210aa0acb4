package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

func TestCommand(t *testing.T) {
	nasty := "-x --yolo=false '\"$(id)\n@file /quit"
	argv := runSpec(Task{Session: "S", Prompt: nasty}, Offers{}).Argv
	for _, want := range []string{"--prompt=" + nasty, "--session-id=S", "--model=" + DefaultModel, "--skip-trust", "--approval-mode=yolo", "--output-format=stream-json"} {
		if !slices.Contains(argv, want) {
			t.Errorf("%q lacks %q", argv, want)
		}
	}
	argv = command(Task{Session: "S", Resume: true, Model: "m"})
	if !slices.Contains(argv, "--resume=S") || slices.Contains(argv, "--session-id=S") || !slices.Contains(argv, "--model=m") {
		t.Errorf("resume: %q", argv)
	}
}

// What a run is parked for is everything that it is started with but the prompt, and what only concerns its record.
func TestWarmKey(t *testing.T) {
	base := Task{Run: "R", Session: "S", Prompt: "p"}
	key := func(t Task) string { return runSpec(t, Offers{}).Warm.Key }
	for name, c := range map[string]struct {
		change func(*Task)
		same   bool
	}{
		"run":         {func(t *Task) { t.Run = "other" }, true},
		"prompt":      {func(t *Task) { t.Prompt = "other" }, true},
		"long prompt": {func(t *Task) { t.Prompt = strings.Repeat("x", MaxPrompt) }, true},
		"needed":      {func(t *Task) { t.Needed = []string{"other"} }, true},
		"watch":       {func(t *Task) { t.Watch = []string{"/x"} }, true},
		"files":       {func(t *Task) { t.Files = workspaceFile("x") }, true},
		"session":     {func(t *Task) { t.Session = "other" }, false},
		"resume":      {func(t *Task) { t.Resume = true }, false},
		"model":       {func(t *Task) { t.Model = "other" }, false},
		"zone":        {func(t *Task) { t.Zone = time.FixedZone("X", 0) }, false},
		"approvals":   {func(t *Task) { t.Approvals = []string{"git push"} }, false},
	} {
		task := base
		c.change(&task)
		if (key(task) == key(base)) != c.same {
			t.Errorf("%s: same %v", name, !c.same)
		}
	}
	if runSpec(base, Offers{}).Warm.Key == runSpec(base, Offers{Search: true}).Warm.Key {
		t.Error("other tools: the same")
	}
}

func workspaceFile(text string) []sandbox.File {
	return []sandbox.File{{Path: "/workspace/task.md", Data: []byte(text)}}
}

func TestRunSpec(t *testing.T) {
	spec := runSpec(Task{Run: "R", Session: "S", Prompt: "p", Watch: []string{"/workspace/status.md"}}, Offers{})
	if err := spec.Check(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(spec.Env, "GEMINI_API_KEY="+placeholder) || !slices.Contains(spec.Env, "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:3128/model") || !slices.Contains(spec.Env, "TZ=UTC") {
		t.Errorf("environment: %q", spec.Env)
	}
	seen := map[string]bool{}
	for _, kv := range spec.Env {
		name, _, _ := strings.Cut(kv, "=")
		if seen[name] {
			t.Errorf("%s is set twice", name)
		}
		seen[name] = true
	}
	for _, f := range spec.Files {
		if f.New {
			t.Errorf("%s would stay as the agent left it", f.Path)
		}
		if strings.HasSuffix(f.Path, ".json") && !json.Valid(f.Data) {
			t.Errorf("%s is not JSON", f.Path)
		}
	}
	if strings.Contains(string(spec.Files[0].Data), "placeholder") {
		t.Error("the key is in a file")
	}
}

// The room's tools are offered, the model is told about the memory only if they include it, and their list is in the preloaded script.
func TestOffers(t *testing.T) {
	list := json.RawMessage(`{"tools":[{"name":"memory_search"}]}`)
	for what, c := range map[string]struct {
		offers                    Offers
		server, listed, told, web bool
	}{
		"nothing": {Offers{}, false, false, false, false},
		"search":  {Offers{Search: true}, false, false, false, true},
		"tools":   {Offers{Tools: list}, true, true, false, false},
		"memory":  {Offers{Tools: list, Remembers: true}, true, true, true, false},
	} {
		spec := runSpec(Task{Run: "R", Session: "S", Prompt: "p"}, c.offers)
		var all struct {
			Tools   struct{ Exclude []string }
			Servers map[string]struct {
				HTTPURL string `json:"httpUrl"`
				Timeout int
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal(spec.Files[0].Data, &all); err != nil {
			t.Fatal(err)
		}
		if s, ok := all.Servers["room"]; ok != c.server || ok && (s.HTTPURL != "http://127.0.0.1:3128/tools" || s.Timeout != 15000) {
			t.Errorf("%s: servers %+v", what, all.Servers)
		}
		if (len(all.Tools.Exclude) == 0) != c.web {
			t.Errorf("%s: excluded %q", what, all.Tools.Exclude)
		}
		script := string(spec.Files[3].Data)
		if strings.Contains(script, `{"name":"memory_search"}`) != c.listed || strings.Contains(script, "call `mcp_room_memory_search`") != c.told {
			t.Errorf("%s: script %.3000s", what, script)
		}
	}
}

func TestCheck(t *testing.T) {
	fine := Task{Run: "R", Session: "S", Prompt: "p"}
	if err := fine.check(); err != nil {
		t.Error(err)
	}
	if err := (Task{Run: "R", Attached: true}).check(); err != nil {
		t.Errorf("an attached task needs no prompt: %v", err)
	}
	for _, c := range []struct {
		word   string
		change func(*Task)
	}{
		{"run ID", func(t *Task) { t.Run = "" }},
		{"UUID", func(t *Task) { t.Session = "" }},
		{"UUID", func(t *Task) { t.Session = "--help" }},
		{"no prompt", func(t *Task) { t.Prompt = " \n" }},
		{"NUL", func(t *Task) { t.Prompt = "a\x00b" }},
		{"limit 4194304", func(t *Task) { t.Prompt = strings.Repeat("x", MaxPrompt+1) }},
	} {
		task := fine
		c.change(&task)
		if err := task.check(); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("check = %v, want … %s …", err, c.word)
		}
	}
}

// A parked run has told the model today's date: it ends when the room's day does.
func TestParkedFor(t *testing.T) {
	zone := time.FixedZone("X", 5*3600)
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 14, hour, minute, 0, 0, zone).UTC() }
	for _, c := range []struct {
		now  time.Time
		want time.Duration
	}{{at(12, 0), 20 * time.Minute}, {at(23, 39), 20 * time.Minute}, {at(23, 45), 15 * time.Minute}, {at(24, 0), 20 * time.Minute}} {
		if got := parkedFor(c.now, zone, 20*time.Minute); got != c.want {
			t.Errorf("at %s for %s, want %s", c.now, got, c.want)
		}
	}
	if got := parkedFor(at(4, 50), nil, 20*time.Minute); got != 10*time.Minute {
		t.Errorf("without a zone for %s", got)
	}
}
