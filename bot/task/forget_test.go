package task

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/scrub"
	"matrix-tui/state/transcripts"
)

// forgetful is a room without a container, with what a task has left in it.
func forgetful(t *testing.T, said, result string) (*Env, string) {
	t.Helper()
	dir := t.TempDir()
	journal, err := state.OpenJournal(t.Context(), filepath.Join(dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	store, err := state.OpenStore(t.Context(), journal, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	logs, err := transcripts.Open(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	m := recall.New(dir, store, journal, zerolog.Nop())
	env := newEnv(&Deps{Shared: container.Shared{Journal: journal, Store: store, Log: zerolog.Nop()}, Transcripts: logs, Recall: m}, "!r")
	message := event.Event{Room: "!r", ID: "$1", Sender: "@alice:x", Type: event.TypeMessage, Body: event.Body{Message: &event.Message{MsgType: "m.text", Body: said}}}
	now := time.Now()
	_, commit := journal.Events.Commit(t.Context(), "t", []state.Event{{Status: state.Done, Event: message}})
	for _, err := range []error{
		commit,
		store.Conversations.Append(t.Context(), "!r", state.Turn{Role: "user", Content: said, Event: "$1"}, state.Turn{Role: "assistant", Content: result, Event: "$1"}),
		store.Conversations.SetSession(t.Context(), "!r", "session"),
		logs.Begin("!r", "$1", said),
		logs.Append("!r", transcripts.Line{Kind: transcripts.KindAssistant, Event: "$1", Text: result}),
		logs.End("!r", "$1", "completed"),
		m.Learn(t.Context(), recall.Task{Room: "!r", ID: "x", Event: "$1", By: "alice", Session: "session", Began: now, Ended: now, Said: []recall.Said{{Event: "$1", By: "alice", Text: said}}, Success: true, Result: result}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return env, dir
}

// kept returns the files of the state directory that have a text.
func kept(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			if data, err = os.ReadFile(path); strings.Contains(string(data), text) {
				files = append(files, strings.TrimPrefix(path, dir))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rebuilt does what Memory.Work does in the background.
func rebuilt(t *testing.T, env *Env) {
	t.Helper()
	if err := env.Recall.Rebuild(t.Context(), "!r"); err != nil {
		t.Fatal(err)
	}
}

// A password that the memory has filtered, and a text beyond what it takes of a message, are forgotten everywhere. The next
// session gets nothing of it from the history.
func TestForgetEverywhere(t *testing.T) {
	const password, far = "hunter2-Xyzzy-77", "the walrus sleeps at berth nine"
	for what, said := range map[string]string{
		password: "the password is " + password + ", log in",
		far:      strings.Repeat("many words before it. ", 600) + far,
	} {
		env, dir := forgetful(t, said, "I used it: "+what)
		if len(kept(t, dir, what)) < 3 {
			t.Fatalf("%q is only in %v", what, kept(t, dir, what))
		}
		texts, events, err := env.Recall.Meant(t.Context(), "!r", what)
		if err != nil {
			t.Fatal(err)
		}
		out, err := env.Forget(t.Context(), texts, events)
		if err != nil || out.Entries == 0 || out.Open {
			t.Fatal(out, err)
		}
		if left := kept(t, dir, what); len(left) > 0 {
			t.Errorf("%q is still in %v", what, left)
		}
		if env.Store.Conversations.Session("!r") != "" {
			t.Error("the session goes on")
		}
		history, err := env.Store.Conversations.History(t.Context(), "!r")
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range history {
			if turn.Content != scrub.Deleted {
				t.Errorf("the next session is given %q", turn.Content)
			}
		}
		if again, err := env.Forget(t.Context(), texts, events); err != nil || again.Entries > 0 {
			t.Errorf("once more: %+v, %v", again, err)
		}
	}
}

// A text that only files in the container have goes from them, too.
func TestForgetMarksContainer(t *testing.T) {
	env, _ := forgetful(t, "hello", "Hello.")
	if out, err := env.Forget(t.Context(), []string{"only the container has this"}, nil); err != nil || out.Entries > 0 {
		t.Fatal(out, err)
	}
	if untidy, err := env.Journal.Memory.Untidy(t.Context(), "!r"); err != nil || !untidy {
		t.Errorf("untidy %v, %v", untidy, err)
	}
}

// A deleted message is gone from history, journal, transcript, notes and index, also where a result repeats it.
func TestRedactEverywhere(t *testing.T) {
	const said = "remember that my cat is called Pixel"
	env, dir := forgetful(t, said, "You said: "+said+". Noted.")
	if err := env.Redact(t.Context(), "!r", "$1"); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Journal.Purge(t.Context(), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	rebuilt(t, env)
	if left := kept(t, dir, "Pixel"); len(left) > 0 {
		t.Errorf("still in %v", left)
	}
}

// An edited message counts as it is now.
func TestRewrite(t *testing.T) {
	const was, is = "remember that my dog is called Rex", "remember that my dog is called Bruno"
	env, dir := forgetful(t, was, "Noted.")
	if err := env.Rewrite(t.Context(), recall.Edit{Event: "$1", By: "alice", Text: is}); err != nil {
		t.Fatal(err)
	}
	if history, err := env.Store.Conversations.History(t.Context(), "!r"); err != nil || history[0].Content != is {
		t.Errorf("history %+v", history)
	}
	rebuilt(t, env)
	if left := kept(t, dir, "called Rex"); len(left) > 0 {
		t.Errorf("still in %v", left)
	}
	k := env.Recall.Find(t.Context(), "!r", "alice", "", "what is my dog called?")
	if len(k.Retrieved) == 0 || !strings.Contains(strings.Join(k.Retrieved, "\n"), "Bruno") {
		t.Errorf("found %+v", k)
	}
}

// A removal that fails in between is completed when it is repeated.
func TestRedactAgain(t *testing.T) {
	const said = "remember that my cat is called Pixel"
	env, dir := forgetful(t, said, "You said: "+said+". Noted.")
	files, _ := filepath.Glob(filepath.Join(dir, "transcripts", "*.jsonl"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for _, err := range []error{os.Rename(files[0], files[0]+".away"), os.Mkdir(files[0], 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := env.Redact(t.Context(), "!r", "$1"); err == nil {
		t.Error("it does not fail")
	}
	for _, err := range []error{os.Remove(files[0]), os.Rename(files[0]+".away", files[0]), env.Redact(t.Context(), "!r", "$1")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := env.Journal.Purge(t.Context(), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	rebuilt(t, env)
	if left := kept(t, dir, "Pixel"); len(left) > 0 {
		t.Errorf("still in %v", left)
	}
}

// Somebody else's "yes" stays when one is deleted or edited.
func TestShortWordsOfOthers(t *testing.T) {
	env, _ := forgetful(t, "yes", "Fine.")
	if err := env.Store.Conversations.Append(t.Context(), "!r", state.Turn{Role: "user", Content: "yes", Event: "$2"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		env.Rewrite(t.Context(), recall.Edit{Event: "$1", By: "alice", Text: "no"}), env.Redact(t.Context(), "!r", "$1"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if history, err := env.Store.Conversations.History(t.Context(), "!r"); err != nil || history[0].Content != scrub.Deleted || history[2].Content != "yes" {
		t.Errorf("history %+v", history)
	}
}
