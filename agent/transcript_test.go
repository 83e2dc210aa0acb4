package agent

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"matrix-tui/sandbox"
)

// The transcripts in testdata are what the real Gemini CLI printed, in a real
// container, when the scripted model answered by model.yaml:
//
//	model.yaml   the model's script
//	task.json    prompt, and what was done around it (see record in container_test.go)
//	stdout       the stream, as it came
//	status.json  how the run ended
//	want.json    what is made of it: events and outcome
//
// With another release of the CLI, record them again, then read the difference:
//
//	GOFLAGS=$GOFLAGS,record MATRIX_TUI_E2E=require go test ./agent -run TestRecord
//	go test ./agent -run TestTranscripts -update
var update = flag.Bool("update", false, "rewrite want.json of the transcripts")

type transcript struct {
	path, name string
	archive    *txtar.Archive
	stdout     string
	task       scene
	status     sandbox.RunStatus
}

// scene is task.json.
type scene struct {
	Prompt string
	// Before is the prompt of a task in the same session before this one.
	Before string `json:",omitempty"`
	// Resume asks for a session; without Before there is none.
	Resume bool `json:",omitempty"`
	// Approvals are the task's.
	Approvals []string `json:",omitempty"`
	// StopAfter stops the run from elsewhere once the model was asked so often.
	StopAfter int `json:",omitempty"`
}

func (tr *transcript) file(name string) *txtar.File {
	for i := range tr.archive.Files {
		if tr.archive.Files[i].Name == name {
			return &tr.archive.Files[i]
		}
	}
	tr.archive.Files = append(tr.archive.Files, txtar.File{Name: name})
	return &tr.archive.Files[len(tr.archive.Files)-1]
}

func (tr *transcript) save(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(tr.path, txtar.Format(tr.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func transcripts(t testing.TB) []*transcript {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var all []*transcript
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		tr := &transcript{path: p, name: strings.TrimSuffix(filepath.Base(p), ".txtar"), archive: a}
		tr.stdout = string(tr.file("stdout").Data)
		for name, v := range map[string]any{"task.json": &tr.task, "status.json": &tr.status} {
			if data := tr.file(name).Data; len(data) > 0 {
				if err := json.Unmarshal(data, v); err != nil {
					t.Fatalf("%s: %s: %v", p, name, err)
				}
			}
		}
		all = append(all, tr)
	}
	return all
}

// told is want.json.
type told struct {
	Events  []Event
	Outcome Outcome
}

func TestTranscripts(t *testing.T) {
	for _, tr := range transcripts(t) {
		t.Run(tr.name, func(t *testing.T) {
			s, events := read(t, tr.stdout, 1000)
			o := conclude(Task{Run: "R", Session: "S", Resume: tr.task.Resume || tr.task.Before != ""}, tr.status, s, cause{})
			o.Status = sandbox.RunStatus{} // it is in status.json
			got, err := json.MarshalIndent(told{events, o}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			want := tr.file("want.json")
			if *update {
				want.Data = got
				tr.save(t)
				return
			}
			if d := cmp.Diff(string(want.Data), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// There is a transcript for every way in which the CLI itself can end.
func TestTranscriptsCover(t *testing.T) {
	missing := map[Ended]bool{Completed: true, Empty: true, ModelError: true, Stopped: true, SessionGone: true, NoAuth: true, TurnLimit: true,
		NeedsInput: true, QuestionCut: true, NeedsApproval: true}
	for _, tr := range transcripts(t) {
		var w told
		if err := json.Unmarshal(tr.file("want.json").Data, &w); err != nil {
			t.Fatalf("%s: %v", tr.name, err)
		}
		delete(missing, w.Outcome.Ended)
	}
	if len(missing) > 0 {
		t.Errorf("no transcript ends as %v", slices.Collect(maps.Keys(missing)))
	}
}
