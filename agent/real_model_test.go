package agent

import (
	"strings"
	"testing"
)

// Everything that the CLI asks for is the configured model, also the summary of a long conversation. It would take a newer
// model for this one. The gateway refuses any other.
func TestRealOneModel(t *testing.T) {
	const model = "gemini-3-pro-preview"
	r := newReal(t)
	r.route.Begin(r.spec.Room, "test", model)
	r.answer(t, `
models: [{name: `+model+`}]
rules:
  - {tool: '^run_shell_command', say: 'done'}
  - {when: 'work', tokens: 900000, call: [{name: run_shell_command, args: {command: date}}]}
  - {when: 'talk', say_repeat: {text: 'line {{n}} ', bytes: 100000}}
`)
	session := uuid()
	r.do(t, Task{Session: session, Model: model, Prompt: "talk"})
	if o, _ := r.do(t, Task{Session: session, Resume: true, Model: model, Prompt: "work"}); o.Text != "done" {
		t.Errorf("%+v", o)
	}
	others := 0
	for _, q := range r.model.Requests() {
		if q.Model != model {
			t.Errorf("%s of %s", q.Method, q.Model)
		}
		if q.Method == "generateContent" {
			others++
		}
		if strings.Contains(q.Text, "google_web_search") {
			t.Error("the model is offered a search that it cannot use")
		}
	}
	if others == 0 {
		t.Error("no summary was asked for")
	}
}

// A conversation that has become too long for the model within one task ends without a word of the CLI.
func TestRealOverflow(t *testing.T) {
	const model = "gemini-3.7-flash" // the CLI does not look at the length for an alias, and the API refuses it then
	r := newReal(t)
	r.route.Begin(r.spec.Room, "test", model)
	r.answer(t, `
rules:
  - {when: 'work', tokens: 1048570, say: 'I begin.', call: [{name: run_shell_command, args: {command: date}}]}
`)
	if o, _ := r.do(t, Task{Model: model, Prompt: "work"}); o.Ended != Overflow || o.Session != "" {
		t.Errorf("%+v", o)
	}
}
