package task

import (
	"strings"
	"testing"

	"matrix-tui/state"
)

// A question says how to answer it.
func TestHow(t *testing.T) {
	held := (&Env{}).Task(state.Task{Key: "0123", HeldCommand: "git push"}).Question()
	budget := (&Env{}).Task(state.Task{Key: "0123", Details: state.Details{Budget: 1}, State: state.TaskWaiting, Question: "Continue?\n1. Yes\n2. No"}).Question()
	choice := (&Env{}).Task(state.Task{Key: "0123", State: state.TaskWaiting, Question: "Which?\n1. one\n2. two"}).Question()
	for _, c := range []struct {
		q    Question
		p    Proof
		want string
	}{
		{held, Proof{}, "Tap ✅ to run it once, or ❌ to refuse,"},
		{held, Proof{Code: true}, "Reply `yes CODE` to run it once; `no` or ❌ refuses. Answer"},
		{held, Proof{Code: true, Words: true}, "Reply `yes CODE` to run it once; `no` refuses. Answer"},
		{held, Proof{Code: true, Clear: true}, "This room is not encrypted, and only an encrypted message can say yes: encrypt it first. Reply `yes CODE` to run it once; `no` or ❌ refuses. Answer"},
		{budget, Proof{}, "Tap 1–2 or reply"},
		{budget, Proof{Code: true}, "Reply `yes CODE` to continue; `no` or 2️⃣ refuses. Answer"},
		{choice, Proof{Code: true}, "Tap 1–2 or reply"},
		{choice, Proof{Code: true, Words: true}, "Reply"},
	} {
		if got := strings.ReplaceAll(c.q.how(c.p), c.q.Code(), "CODE"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
}

// A yes is one with or without the code, which only the right one names.
func TestAffirms(t *testing.T) {
	held := (&Env{}).Task(state.Task{Key: "0123", HeldCommand: "git push"}).Question()
	budget := (&Env{}).Task(state.Task{Key: "0123", Details: state.Details{Budget: 1}}).Question()
	other := (&Env{}).Task(state.Task{Key: "0123"}).Question()
	for answer, want := range map[string]struct{ yes, named, more bool }{
		"yes": {true, false, true}, "yes CODE": {true, true, true}, "CODE. Yes!": {true, true, true}, "CODE": {true, false, true}, "yes 00000": {true, false, true},
		"yes CODE CODE": {true, false, true}, "no CODE": {false, true, false}, "no": {false, false, false}, "1000 more": {false, false, true}, "": {false, false, false},
		"`yes CODE`": {true, true, true}, "**yes** CODE please": {true, true, true}, "well, CODE": {true, false, true}, "yes, run it": {true, false, true}, "OK then": {true, false, false}, "go ahead with it, CODE": {true, false, true},
		"yes but not yet": {false, false, true}, "ok, don’t": {false, false, false}, "yesterday": {false, false, true}, "not now, CODE": {false, true, false}, "stop CODE": {false, true, false}, "nein, CODE": {false, true, false}, "ja CODE": {true, false, true}, "now, CODE": {true, false, true}, "don’t, CODE": {false, true, false},
	} {
		if yes, named := held.Affirms(strings.ReplaceAll(answer, "CODE", held.Code())); yes != want.yes || named != want.named {
			t.Errorf("%q approves: %v, named %v", answer, yes, named)
		}
		if yes, named := budget.Affirms(strings.ReplaceAll(answer, "CODE", budget.Code())); yes != want.more || named != want.named {
			t.Errorf("%q allows more: %v, named %v", answer, yes, named)
		}
		if yes, named := other.Affirms(answer); yes || named {
			t.Errorf("%q grants something of a question that does not", answer)
		}
	}
}
