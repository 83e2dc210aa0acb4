package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	nasty := "-x --yolo=false '\"$(id)\n@file /quit"
	argv := command(Task{Session: "S", Prompt: nasty})
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

func TestRunSpec(t *testing.T) {
	spec := runSpec(Task{Run: "R", Session: "S", Prompt: "p", Watch: []string{"/workspace/status.md"}}, "the placeholder", false)
	if err := spec.Check(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(spec.Env, "GEMINI_API_KEY=the placeholder") || !slices.Contains(spec.Env, "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:3128/model") {
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
		{"limit 131062", func(t *Task) { t.Prompt = strings.Repeat("x", MaxPrompt+1) }},
	} {
		task := fine
		c.change(&task)
		if err := task.check(); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("check = %v, want … %s …", err, c.word)
		}
	}
}
