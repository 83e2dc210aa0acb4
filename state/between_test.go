package state

import "testing"

// What counts as said between a task and its answer: not what belongs to the task, nor what is no message.
func TestSaidAfter(t *testing.T) {
	j := openJournal(t, t.TempDir()+"/journal.db")
	task, part := anEvent("!a", "$task", Done), anEvent("!a", "$part", Done)
	commit(t, j, "t1", anEvent("!a", "$before", Done), task, part, anEvent("!b", "$elsewhere", Done))
	must(t, j.Messages.Queue(ctx,
		Message{Txn: "k-n", Room: "!a", Kind: KindNotice, Task: "k"},
		Message{Txn: "l-eyes", Room: "!a", Kind: KindReaction, Task: "l", Relation: Reaction},
		Message{Txn: "g-g", Room: "!a", Kind: KindGreeting},
		Message{Txn: "l-n-e", Room: "!a", Kind: KindNoticeEdit, Task: "l", Relation: Edit}))
	has := func(what, event, self string, but []string, want bool) {
		t.Helper()
		if said, err := j.Messages.SaidAfter(ctx, "!a", event, self, "k", but); err != nil || said != want {
			t.Errorf("%s: %v, %v", what, said, err)
		}
	}
	has("a part of the task", "$task", "@bot:x", []string{"$part"}, false)
	has("not a part of the task", "$task", "@bot:x", nil, true)
	has("only what came before", "$part", "@bot:x", nil, false)
	has("our own", "$task", task.Sender, nil, false)
	has("an unknown event", "$none", "@bot:x", nil, true)
	must(t, j.Messages.Queue(ctx, Message{Txn: "l-f0", Room: "!a", Kind: KindFinal, Task: "l"}))
	has("the answer to another task", "$part", "@bot:x", nil, true)
}
