package recall

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/state/memory"
)

// says is a list of edits, as a task has it.
func says(edits ...Edit) func(context.Context) ([]Edit, error) {
	return func(context.Context) ([]Edit, error) { return edits, nil }
}

// wantKnown fails unless what a room knows, and what its files get, contains these texts, or not.
func wantKnown(t *testing.T, m *Memory, query string, want map[string]bool) Known {
	t.Helper()
	k := m.Find(t.Context(), "!r", "", query)
	for name, all := range map[string]string{
		"found": fmt.Sprint(k.Commands, k.Preferences, k.Answers, k.Retrieved), "lines": kept(t, m),
	} {
		for text, want := range want {
			if strings.Contains(all, text) != want {
				t.Errorf("%s: %q, want %v: %s", name, text, want, all)
			}
		}
	}
	return k
}

// A task is learned with the edits of its messages, whether or not they came in time for it.
func TestLearnEdited(t *testing.T) {
	m := newMemory(t)
	dog := task(1, 0, "remember that my dog is called Rex", "Noted.")
	dog.Edits = says(Edit{"$1", "alice", "remember that my dog is called Bruno"}, Edit{"$9", "alice", "another message"})
	learn(t, m, dog, dog)
	k := wantKnown(t, m, "what is my dog called?", map[string]bool{"Rex": false, "fact: remember that my dog is called Bruno": true})
	if !k.Forgotten.Text("remember that my dog is called Rex") || k.Forgotten.Text("remember that my dog is called Bruno") {
		t.Error("the history would have the wrong text")
	}

	shed := task(2, 0, "paint the shed", "Painted it blue") // amended in time
	shed.Answers = []Answer{{"Which colour shall it have?", "blue as the sky", "alice", "$a"}}
	shed.Calls = []Call{{Tool: ShellTool, Detail: "paint --colour blue", Output: "ok"}}
	shed.Edits = says(Edit{"$a", "alice", "blue as the sky"}, Edit{"$2", "alice", "paint the shed"})
	learn(t, m, shed)
	k = wantKnown(t, m, "paint the shed", map[string]bool{"A: blue as the sky | Context: paint the shed": true})
	if all := strings.Join(k.Commands, "\n"); !strings.Contains(all, "Command: paint the shed |") || !strings.Contains(all, "Command: paint --colour blue |") {
		t.Errorf("commands %q", all)
	}
	if all := kept(t, m); !strings.Contains(all, "paint the shed → Painted it blue") {
		t.Errorf("lines %s", all)
	}
	if k.Forgotten.Text("paint the shed") || k.Forgotten.Text("blue as the sky") {
		t.Error("what was said is forgotten")
	}
}

// An edit of a message that was learned changes what comes from it, and nothing else.
func TestEditLearned(t *testing.T) {
	m := newMemory(t)
	list := task(1, 0, "wirte a list. Please always answer in German.", "Liste")
	list.Answers = []Answer{{"For which of the two shops is it?", "the bakery in town", "alice", "$a"}, {"How long shall it be?", "twelve lines long", "alice", "$b"}}
	list.Calls = []Call{{Tool: "write_file", Detail: "/workspace/list.md", Output: "ok"}, {Tool: ShellTool, Detail: "cat list.md", Output: "wirte a list. Please always answer in German."}}
	learn(t, m, list)
	settle(t, m)
	for range 2 {
		m.Edit(t.Context(), "!r", Edit{"$1", "alice", "write a list. Please always answer in German."})
	}
	k := wantKnown(t, m, "write a list for the bakery", map[string]bool{"wirte": false, "Context: write a list. Please always answer in German.": true})
	if all := strings.Join(k.Preferences, "\n"); strings.Count(all, "preference: Please always answer in German") != 1 {
		t.Errorf("preferences %q", all)
	}
	if all := kept(t, m); !strings.Contains(all, "MEMORY.md: preference: Please always answer in German") || strings.Contains(all, "wirte") {
		t.Errorf("the files have %s", all)
	}
	if all := strings.Join(k.Commands, "\n"); !strings.Contains(all, "Command: write a list. Please always answer in German. | Outcome: Liste") || !strings.Contains(all, "Command: write_file /workspace/list.md") || strings.Contains(all, "cat list.md") {
		t.Errorf("commands %q", all)
	}
	if all := kept(t, m); !strings.Contains(all, "alice: write a list. Please always answer in German. → Liste (1s, 2 steps; changed list.md)") || !strings.Contains(all, "] write a list. Please always answer in German. → Liste") {
		t.Errorf("lines %s", all)
	}

	m.Edit(t.Context(), "!r", Edit{"$a", "alice", "the butcher in town"})
	k = wantKnown(t, m, "write a list for the butcher", map[string]bool{"bakery": false, "A: the butcher in town | Context: write a list": true, "A: twelve lines long | Context: write a list": true})
	if len(k.Answers) != 2 || !k.Forgotten.Text("the bakery in town") || k.Forgotten.Text("the butcher in town") {
		t.Errorf("answers %q", k.Answers)
	}
	m.Edit(t.Context(), "!r", Edit{"$a", "alice", "the bakery in town"}) // taken back
	wantKnown(t, m, "write a list for the bakery", map[string]bool{"butcher": false, "A: the bakery in town | Context: write a list": true})
	m.Edit(t.Context(), "!r", Edit{"$a", "alice", "yes"}) // which is no answer that is worth keeping
	wantKnown(t, m, "write a list for the bakery", map[string]bool{"bakery in town": false, "A: twelve lines long | Context: write a list": true})
	m.Edit(t.Context(), "!r", Edit{"$1", "alice", "write a poem."})
	k = wantKnown(t, m, "write a list or a poem", map[string]bool{"German": false, "Context: write a poem": true})
	if all := kept(t, m); strings.Contains(all, "German") || len(k.Preferences) > 0 {
		t.Errorf("the files have %s, preferences %q", all, k.Preferences)
	}
}

// A task is learned once more, as after a crash, and one of its messages has been edited meanwhile.
func TestLearnEditedAgain(t *testing.T) {
	for _, written := range []bool{false, true} {
		m := newMemory(t)
		list := task(1, 0, "write a list", "listed")
		learn(t, m, list)
		if written {
			settle(t, m)
		}
		list.Edits = says(Edit{"$1", "alice", "write a list of doors"})
		learn(t, m, list)
		wantKnown(t, m, "write a list", map[string]bool{"write a list of doors": true, "write a list |": false})
		if all := kept(t, m); strings.Contains(all, "write a list →") || strings.Count(all, "alice: write a list of doors → listed") != 1 {
			t.Errorf("written %v: lines %s", written, all)
		}
	}
}

// After a restart, a task is about to be learned again from state.json, which lacks an edit, while it ends with it.
func TestLearnEditedMeanwhile(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "say hello", "hello"))
	list := task(2, 1, "write a list", "listed")
	putExecution(t, m, list)
	again := New(m.dir, m.store, m.log)
	edit := Edit{"$2", "alice", "write a list of doors"}
	err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
		missed, err := again.missed(ctx, x)
		if err != nil || len(missed) != 1 {
			t.Fatalf("%d tasks are missed, %v", len(missed), err)
		}
		list.Edits = says(edit)
		learn(t, again, list)
		return missed[0](ctx, x)
	})
	if err != nil {
		t.Fatal(err)
	}
	again.Edit(t.Context(), "!r", edit)
	wantKnown(t, again, "write a list", map[string]bool{"write a list of doors": true, "write a list |": false})
	if all := kept(t, again); strings.Contains(all, "write a list →") || strings.Count(all, "alice: write a list of doors → listed") != 1 {
		t.Errorf("lines %s", all)
	}
}

// settle does what Sync does with lines, without the files.
func settle(t *testing.T, m *Memory) {
	t.Helper()
	err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
		unsettled, err := x.Unsettled(ctx)
		if err != nil {
			return err
		}
		return x.Settle(ctx, unsettled)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kept returns the lines that files have or get, each with its file.
func kept(t *testing.T, m *Memory) (all string) {
	t.Helper()
	err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
		lines, err := x.Unsettled(ctx)
		for _, name := range []string{mainFile, contextFile} {
			written, failed := x.Written(ctx, name)
			lines, err = append(lines, written...), errors.Join(err, failed)
		}
		for _, l := range lines {
			if !l.Gone {
				all += l.Path + ": " + l.Text + "\n"
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An edit that the index does not take survives a restart of the bot.
func TestEditLockedIndex(t *testing.T) {
	m := newMemory(t)
	learn(t, m, task(1, 0, "remember that the dog is called Rex", "Noted."))
	unlock := lock(t, m, "!r")
	m.Edit(t.Context(), "!r", Edit{"$1", "alice", "remember that the dog is called Emil"})
	unlock()
	again := New(m.dir, m.store, m.log)
	for range 2 {
		wantKnown(t, again, "what is the dog called?", map[string]bool{"Rex": false, "dog is called Emil": true})
	}
	if left, err := filepath.Glob(memory.Path(m.dir, "!r") + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// What a person makes the bot forget, and then adds again, stays in MEMORY.md.
func TestForgetAndAddAgain(t *testing.T) {
	m := newMemory(t)
	for _, command := range []string{"add The barn is red.", "", "forget barn is", "add The barn is red."} {
		if command == "" {
			settle(t, m)
		} else if _, err := m.Command(t.Context(), "!r", "$c", command); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, m)
	if all := kept(t, m); !strings.Contains(all, "The barn is red.") {
		t.Errorf("the files have %q", all)
	}
}

// A correction can be taken back, and what was forgotten can be said again, but not by the message that was redacted.
func TestSaidAgain(t *testing.T) {
	m := newMemory(t)
	backup := task(1, 0, "Back up the database", "Backed up production")
	backup.Answers = []Answer{{"Which database - production or staging?", "production", "alice", "$a"}}
	learn(t, m, backup)
	for n, correction := range []string{"no, staging", "no, production", "no, staging"} {
		no := task(2+n, 0, correction, "Sorry")
		no.Before = "Back up the database"
		learn(t, m, no)
		want := strings.TrimPrefix(correction, "no, ")
		if k := m.Find(t.Context(), "!r", "", "Back up the database"); len(k.Answers) != 1 || !strings.Contains(k.Answers[0], "A: "+want+" |") {
			t.Errorf("after %q: %q", correction, k.Answers)
		}
	}

	pixel := "remember that my cat is called Pixel"
	learn(t, m, task(10, 0, pixel, "Noted."))
	settle(t, m)
	if _, err := m.Command(t.Context(), "!r", "$c", "forget Pixel"); err != nil {
		t.Fatal(err)
	}
	learn(t, m, task(10, 0, pixel, "Noted.")) // once more, after a crash
	if k := m.Find(t.Context(), "!r", "", "my cat"); strings.Contains(fmt.Sprint(k.Preferences), "Pixel") {
		t.Errorf("it came back: %q", k.Preferences)
	}
	learn(t, m, task(11, 0, pixel, "Noted."))
	if k := m.Find(t.Context(), "!r", "", "my cat"); !strings.Contains(fmt.Sprint(k.Preferences), "Pixel") || !strings.Contains(kept(t, m), "Pixel") {
		t.Errorf("it was said again: %q", k.Preferences)
	}
	m.Redact(t.Context(), "!r", "$11")
	learn(t, m, task(11, 0, pixel, "Noted."))
	if k := m.Find(t.Context(), "!r", "", "my cat"); strings.Contains(fmt.Sprint(k.Preferences, kept(t, m)), "Pixel") {
		t.Errorf("it was redacted: %q", k.Preferences)
	}
}

// When most lines of MEMORY.md are gone at once, an agent has rewritten it: they come back. Of a few, a person has
// taken care.
func TestRewrittenFile(t *testing.T) {
	m := newMemory(t)
	facts := []string{"the barn is red", "the shed is blue", "the door is black", "the roof is grey", "the wall is white", "the gate is green"}
	file := ""
	for n, fact := range facts {
		learn(t, m, task(n, 0, "remember that "+fact, "Noted."))
		file += "- " + strings.TrimPrefix(lines(t, m, "!r")[2*n], "MEMORY.md: ") + "\n"
	}
	settle(t, m)
	for _, one := range []struct {
		reworded, left int
	}{{6, 6}, {4, 6}, {3, 3}} {
		text := strings.Replace(file, " is ", " was ", one.reworded)
		err := m.use(t.Context(), "!r", writeTime, func(ctx context.Context, x *memory.Index) error {
			own, err := x.Written(ctx, mainFile)
			if err != nil {
				return err
			}
			s := sync1{Memory: m, roomFiles: m.files("!r"), x: x}
			return s.checkEdited(ctx, mainFile, text, own)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(kept(t, m), "MEMORY.md: fact: "); n != one.left {
			t.Errorf("after %d lines were reworded, %d are left, want %d", one.reworded, n, one.left)
		}
		settle(t, m)
	}
}
