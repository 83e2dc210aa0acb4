package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/execution"
)

// TestExecution follows an execution: started, asked, answered, and answered again.
func TestExecution(t *testing.T) {
	s := &shelf{}
	base, log := served(t, s, testToken)
	got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"make it","commands":["write a.py","test it"]}`, bearer, isjson)
	if diff := cmp.Diff(reply{202, nil, `{"session_id":"id-0","state":"pending"}` + "\n"}, reply{got.code, nil, got.body}, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("execute (-want +got):\n%s", diff)
	}
	if where := got.head.Get("Location"); where != "/context/id-0" {
		t.Errorf("Location is %q", where)
	}
	if got := ask(t, "POST", base+"/resume/id-0", `{"answer":"x"}`, bearer, isjson); got.code != 409 || got.body != said("Session is pending, not waiting for input") {
		t.Errorf("resume of a pending one: %d %s", got.code, got.body)
	}
	e := s.waiting(t, "asks")
	stored, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "GET", base+"/context/asks", "", bearer); got.code != 200 || got.body != string(stored)+"\n" {
		t.Errorf("context: %d %s", got.code, got.body)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"the second"}`, bearer, isjson); got.code != 200 || got.body != `{"session_id":"asks","state":"resuming"}`+"\n" {
		t.Errorf("resume: %d %s", got.code, got.body)
	}
	if diff := cmp.Diff([]execution.Answer{{Question: "Which one?", Answer: "the second"}}, e.Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"the third"}`, bearer, isjson); got.code != 409 || got.body != said("Session is running, not waiting for input") {
		t.Errorf("second answer: %d %s", got.code, got.body)
	}
	if err := e.Complete("done", nil, testClock); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "POST", base+"/resume/asks", `{"answer":"late"}`, bearer, isjson); got.code != 409 || got.body != said("Session is completed, not waiting for input") {
		t.Errorf("late answer: %d %s", got.code, got.body)
	}
	for _, secret := range []string{testToken, "make it", "the second", "a.py"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	s := &shelf{}
	base, _ := served(t, s, testToken)
	body := `{"room":"` + testRoom + `","transcript":"x"}`
	for i, key := range []string{"a", "b", "a", "b"} {
		got := ask(t, "POST", base+"/execute", body, bearer, "Content-Type: application/json;charset=UTF-8", "Idempotency-Key: "+key)
		if want := fmt.Sprintf(`{"session_id":"id-%d","state":"pending"}`+"\n", i%2); got.code != 202 || got.body != want {
			t.Errorf("key %s: %d %s", key, got.code, got.body)
		}
	}
	if len(s.list) != 2 {
		t.Errorf("%d executions, want 2", len(s.list))
	}
}

// fullDisk is an error with a sentence.
type fullDisk struct{}

func (fullDisk) Error() string    { return "write state: ENOSPC" }
func (fullDisk) Sentence() string { return "There is no space left." }

func TestBrokenBot(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		want string // in the body
		log  bool   // for the operator
	}{
		{"sentence", fmt.Errorf("execute: %w", fullDisk{}), 503, said("There is no space left."), true},
		{"internal", errors.New("secret detail"), 500, "Something went wrong on my side (internal error ", true},
		{"deadline", fmt.Errorf("execute: %w", context.DeadlineExceeded), 503, said("The request took too long, or the bot is shutting down: retry with the same Idempotency-Key"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, log := served(t, &shelf{broken: tt.err}, testToken)
			got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"x"}`, bearer, isjson)
			if got.code != tt.code || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, "secret") {
				t.Errorf("%d %s", got.code, got.body)
			}
			if strings.Contains(log.String(), tt.err.Error()) != tt.log {
				t.Errorf("log: %s", log)
			}
		})
	}
	t.Run("panic", func(t *testing.T) {
		base, log := served(t, &shelf{}, testToken)
		got := ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"panic"}`, bearer, isjson)
		if got.code != 500 || got.body != said("Internal error: the operator can find it in the log") {
			t.Errorf("%d %s", got.code, got.body)
		}
		if !strings.Contains(log.String(), "panic in an HTTP handler") || strings.Contains(log.String(), "secret text") {
			t.Errorf("log: %s", log)
		}
	})
}

// TestStarting: nothing is started before the bot is ready, but existing executions can be read.
func TestStarting(t *testing.T) {
	s := &shelf{starting: true}
	e := s.waiting(t, "asks")
	base, _ := served(t, s, testToken)
	for path, body := range map[string]string{"/execute": `{"room":"` + testRoom + `","transcript":"x"}`, "/resume/asks": `{"answer":"x"}`} {
		got := ask(t, "POST", base+path, body, bearer, isjson)
		if got.code != 503 || got.body != said("The bot is starting: it has not synced with the homeserver yet") || got.head.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	if len(s.list) != 1 || e.State != execution.WaitingForInput {
		t.Errorf("%d executions, the first is %s", len(s.list), e.State)
	}
	if got := ask(t, "GET", base+"/context/asks", "", bearer); got.code != 200 {
		t.Errorf("context: %d %s", got.code, got.body)
	}
}
