package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/sentence"
)

var noon = time.Date(2026, 2, 24, 12, 0, 0, 0, time.UTC)

// executionIn returns an execution that reached a state by valid transitions.
func executionIn(t *testing.T, s State) *Execution {
	t.Helper()
	e, err := New(Spec{ID: "abc123", Room: "!den:localhost", TaskEvent: "$task", Asker: "@alice:localhost",
		Transcript: []string{"back up the database"}, Commands: []string{"back up the database"}}, noon)
	steps := map[State][]func() error{
		Pending:         {},
		Running:         {func() error { return e.Start(noon) }},
		WaitingForInput: {func() error { return e.Start(noon) }, func() error { return e.Ask("Which?", "two found", noon.Add(time.Hour), noon) }},
		Done:            {func() error { return e.Start(noon) }, func() error { return e.Complete("done", nil, noon) }},
		Failed:          {func() error { return e.Start(noon) }, func() error { return e.Fail("broke", noon) }},
	}
	for _, step := range steps[s] {
		err = errors.Join(err, step())
	}
	if err != nil || e.State != s {
		t.Fatalf("reached %s, not %s: %v", e.State, s, err)
	}
	return e
}

func TestTransitions(t *testing.T) {
	later := noon.Add(time.Minute)
	for _, step := range []struct {
		name string
		do   func(*Execution) error
		to   State
		from []State
	}{
		{"start", func(e *Execution) error { return e.Start(later) }, Running, []State{Pending}},
		{"ask", func(e *Execution) error { return e.Ask("q", "c", later, later) }, WaitingForInput, []State{Running}},
		{"posted", func(e *Execution) error { return e.Posted("$q", later) }, WaitingForInput, []State{WaitingForInput}},
		{"resume", func(e *Execution) error { return e.Resume(Answer{Answer: "a"}, later) }, Running, []State{WaitingForInput}},
		{"complete", func(e *Execution) error { return e.Complete("out", nil, later) }, Done, []State{Running}},
		{"fail", func(e *Execution) error { return e.Fail("why", later) }, Failed, []State{Running, WaitingForInput}},
		{"expire", func(e *Execution) error { return e.Expire(time.Hour, later) }, Failed, []State{WaitingForInput}},
	} {
		for _, from := range []State{Pending, Running, WaitingForInput, Done, Failed, "", "unheard of"} {
			t.Run(fmt.Sprintf("%s from %q", step.name, from), func(t *testing.T) {
				e := executionIn(t, Running)
				if slices.Contains([]State{Pending, WaitingForInput, Done, Failed}, from) {
					e = executionIn(t, from)
				}
				e.State = from
				before, _ := json.Marshal(e)
				err := step.do(e)
				if slices.Contains(step.from, from) {
					if err != nil || e.State != step.to || !e.UpdatedAt.Equal(later) {
						t.Fatalf("in %s, updated %s: %v", e.State, e.UpdatedAt, err)
					}
					return
				}
				var refused *TransitionError
				if !errors.As(err, &refused) || refused.From != from || refused.To != step.to || refused.ID != "abc123" || refused.Sentence() == "" {
					t.Fatalf("error %#v", err)
				}
				if after, _ := json.Marshal(e); string(after) != string(before) {
					t.Errorf("changed:\n%s\n%s", before, after)
				}
			})
		}
	}
}

func TestQuestionsAndAnswers(t *testing.T) {
	e := executionIn(t, Running)
	for i, q := range []string{"Which database?", "Where to?"} {
		if err := e.Ask(q, "why "+q, noon.Add(time.Hour), noon); err != nil {
			t.Fatal(err)
		}
		if e.CurrentQuestion != q || e.QuestionContext != "why "+q || e.QuestionEvent != "" || !e.Deadline.Equal(noon.Add(time.Hour)) {
			t.Fatalf("%+v", e)
		}
		if err := e.Posted("$q", noon); err != nil || e.QuestionEvent != "$q" {
			t.Fatal(e.QuestionEvent, err)
		}
		event := fmt.Sprintf("$a%d", i)
		if err := e.Resume(Answer{Answer: "one", By: "@bob:localhost", Event: event}, noon); err != nil {
			t.Fatal(err)
		}
		err := e.Resume(Answer{Answer: "two"}, noon)
		var second *TransitionError
		if !errors.As(err, &second) || second.Sentence() != "Session is running, not waiting for input" {
			t.Fatalf("second answer: %v", err)
		}
		if e.CurrentQuestion != "" || e.QuestionContext != "" || e.QuestionEvent != "" || !e.Deadline.IsZero() {
			t.Fatalf("the question is still there: %+v", e)
		}
	}
	for _, c := range []struct {
		event, text string
		done        bool
	}{{"$a0", "late", false}, {"", "http", false}, {"$a1", "edited", true}, {"$a1", " ", false}} {
		if done, err := e.Amend(c.event, c.text, noon); done != c.done || (err != nil) != (c.text == " ") {
			t.Errorf("amend %v: %v, %v", c, done, err)
		}
	}
	want := []Answer{
		{Question: "Which database?", Answer: "one", By: "@bob:localhost", Event: "$a0"},
		{Question: "Where to?", Answer: "edited", By: "@bob:localhost", Event: "$a1"},
	}
	if diff := cmp.Diff(want, e.Answers); diff != "" {
		t.Error(diff)
	}
	if err := e.Complete("backed up", []string{"database"}, noon); err != nil {
		t.Fatal(err)
	}
	if done, err := e.Amend("$a1", "too late", noon); done || err != nil {
		t.Error("amended after the end", err)
	}
	e = executionIn(t, WaitingForInput)
	if err := e.Expire(time.Hour, noon); err != nil || e.ErrorMessage != "Timed out waiting for user input (60min)" {
		t.Error(e.ErrorMessage, err)
	}
}

func TestExecutionJSON(t *testing.T) {
	e := executionIn(t, Pending)
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"session_id":"abc123","state":"pending","transcript":["back up the database"],"commands":["back up the database"],` +
		`"results":[],"answers":[],"topics":[],` +
		`"room":"!den:localhost","task_event":"$task","asker":"@alice:localhost",` +
		`"created_at":"2026-02-24T12:00:00Z","updated_at":"2026-02-24T12:00:00Z",` +
		`"current_question":null,"question_context":null,"error_message":null}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
	for _, s := range []State{Pending, Running, WaitingForInput, Done, Failed} {
		e := executionIn(t, s)
		e.UpdatedAt = time.Date(2026, 2, 24, 12, 0, 0, 123456789, time.UTC)
		raw, err := json.Marshal(e)
		var back Execution
		if err := errors.Join(err, json.Unmarshal(raw, &back)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*e, back); diff != "" {
			t.Errorf("%s: %s", s, diff)
		}
	}
}

// A task that was given up keeps its question, which nobody can answer.
func TestClosedQuestionIsHidden(t *testing.T) {
	e := executionIn(t, WaitingForInput)
	e.State, e.QuestionEvent = Failed, "$q"
	raw, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(raw), `"current_question":null,"question_context":null`) ||
		strings.Contains(string(raw), "$q") || strings.Contains(string(raw), "deadline") {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestExecutionBounds(t *testing.T) {
	huge := strings.Repeat("é", 1<<20)
	for _, b := range []Spec{{Transcript: make([]string, MaxCommands+1)}, {Commands: make([]string, MaxCommands+1)}, {Transcript: []string{huge}}, {Commands: []string{huge}}} {
		if e, err := New(b, noon); e != nil || !errors.Is(err, ErrLimit) || sentence.Text(err) == err.Error() {
			t.Errorf("%d+%d parts: %v", len(b.Transcript), len(b.Commands), err)
		}
	}
	e := executionIn(t, Running)
	for range MaxAnswers {
		if err := e.Ask(huge, huge, noon, noon); err != nil {
			t.Fatal(err)
		}
		if len(e.CurrentQuestion) > maxQuestion || len(e.QuestionContext) > maxQuestion || !strings.HasSuffix(e.CurrentQuestion, "é…") {
			t.Fatalf("question of %d, context of %d bytes", len(e.CurrentQuestion), len(e.QuestionContext))
		}
		for _, answer := range []string{"", " \n", huge} {
			if err := e.Resume(Answer{Answer: answer}, noon); !errors.Is(err, ErrLimit) || e.State != WaitingForInput {
				t.Fatalf("%.9q: %v", answer, err)
			}
		}
		if err := e.Resume(Answer{Answer: strings.Repeat("x", MaxAnswer), Event: "$a"}, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Ask("again?", "", noon, noon); !errors.Is(err, ErrLimit) || e.State != Running || len(e.Answers) != MaxAnswers {
		t.Errorf("%d answers: %v", len(e.Answers), err)
	}
	if done, err := e.Amend("$a", huge, noon); done || !errors.Is(err, ErrLimit) {
		t.Error("a huge edit was accepted")
	}
	failed := *e
	if err := errors.Join(e.Complete(huge, slices.Repeat([]string{huge}, 99), noon), failed.Fail(huge, noon)); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(e)
	if bound := 2*maxQuestion + MaxAnswers*(MaxAnswer+MaxAnsweredAbout+200) + MaxResult + MaxTopics*MaxTopic; len(raw) > bound || len(e.Topics) != MaxTopics {
		t.Errorf("%d bytes, %d topics", len(raw), len(e.Topics))
	}
	if len(failed.ErrorMessage) > MaxErrorMessage || len(e.Results[0].Output) > MaxResult {
		t.Error("a long reason or result was kept")
	}
}
