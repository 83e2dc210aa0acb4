package state

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"matrix-tui/state/event"
)

func TestMessageOf(t *testing.T) {
	j := newJournal(t)
	asked := message("x1", "!a", "$task")
	asked.Kind, asked.Number, asked.Relation, asked.About = KindReminder, 3, Reply, "x0"
	asked.Target, asked.Thread, asked.Notice, asked.Details, asked.Small, asked.Mentions = "$t", "$r", true, "d", "s", []string{"@a:x", "@b:x"}
	asked.File = &event.FileInfo{URL: "mxc://a/b", Secret: &event.EncryptedFile{IV: "i"}, Thumb: &event.FileInfo{Width: 1}}
	must(t, j.Messages.Queue(ctx, asked, message("x2", "!a", ""), message("x3", "!b", "")))
	if next, err := j.Messages.Next(ctx, "!a"); err != nil || next.Txn != "x1" {
		t.Errorf("%s, %v", next.Txn, err)
	}
	must(t, j.Messages.MarkSent(ctx, "x1", "$question"))
	got, err := j.Messages.Of(ctx, "!a", "$question")
	must(t, err)
	asked.Event, asked.Status = "$question", Sent
	if diff := cmp.Diff(asked, got, cmpopts.IgnoreFields(Message{}, "Seq")); diff != "" {
		t.Error(diff)
	}
	for _, at := range [][2]string{{"!b", "$question"}, {"!a", "$other"}, {"!a", ""}} {
		if out, err := j.Messages.Of(ctx, at[0], at[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s in %s is %s, %v", at[1], at[0], out.Txn, err)
		}
	}
}

func TestRefused(t *testing.T) {
	j := newJournal(t)
	must(t, j.Messages.Queue(ctx, message("x1", "!a", ""), message("x2", "!a", "")))
	must(t, j.Messages.MarkRefused(ctx, "x1", "M_FORBIDDEN"))
	unsent, err := j.Messages.Unsent(ctx, "!a")
	must(t, err)
	if diff := cmp.Diff([]string{"x2"}, txns(unsent)); diff != "" {
		t.Error(diff)
	}
	got, err := j.Messages.Get(ctx, "x1")
	must(t, err)
	if got.Status != Refused || got.Error != "M_FORBIDDEN" {
		t.Errorf("%+v", got)
	}
	must(t, j.Messages.MarkSent(ctx, "x2", "$e"))
	must(t, j.Messages.MarkRefused(ctx, "x2", "too late"))
	if got, err := j.Messages.Get(ctx, "x2"); err != nil || got.Status != Sent || got.Error != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if rooms, err := j.Messages.UnsentRooms(ctx); len(rooms) > 0 || err != nil {
		t.Errorf("still to be sent: %v, %v", rooms, err)
	}
}
