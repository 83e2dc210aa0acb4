package bot

import (
	"testing"
	"time"

	"matrix-tui/bot/pending"
	"matrix-tui/state"
)

// The answer to a question may be in a gap: nobody is too late before that is filled.
func TestQuestionWaitsForGap(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "paint the shed", 0)
	d.decides()
	asking, err := d.bot.Journal.Tasks.Next(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	asking.Question, asking.QuestionRoom, asking.QuestionEvent, asking.QuestionDeadline = "Which colour?", d.id, "$q", time.Now().Add(-time.Minute)
	if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
		t.Fatal(err)
	}
	d.bot.waits.Set(asking.Key, pending.Wait{Room: d.id, Asker: "@ann:here", Due: asking.QuestionDeadline, Pinned: true})
	if _, err := d.bot.Journal.Events.CommitBatch(t.Context(), state.Batch{Gaps: []state.Gap{{Room: d.id, Token: "p", Encrypted: state.EncryptedNever}}}); err != nil {
		t.Fatal(err)
	}
	check := func() state.TaskState {
		done := make(chan struct{})
		go func() {
			d.overdue(t.Context())
			close(done)
		}()
		for {
			d.bot.admission.Synced.Open()
			select {
			case <-done:
				rec, err := d.bot.Journal.Tasks.Get(t.Context(), asking.Key)
				if err != nil {
					t.Fatal(err)
				}
				return rec.State
			case <-time.After(time.Millisecond):
			}
		}
	}
	if got := check(); got != state.TaskWaiting {
		t.Errorf("with a gap the task is %s", got)
	}
	g, err := d.bot.Journal.Gaps.Get(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.bot.Journal.Gaps.CommitPage(t.Context(), g, nil, true); err != nil {
		t.Fatal(err)
	}
	if got := check(); got != state.TaskAnswered {
		t.Errorf("without a gap the task is %s", got)
	}
}
