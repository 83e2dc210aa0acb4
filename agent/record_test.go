//go:build record

package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"
)

// TestRecord records stdout and status.json of the transcripts again. It needs a real container, and checks nothing:
// TestTranscripts does.
func TestRecord(t *testing.T) {
	r := newReal(t)
	for _, tr := range transcripts(t) {
		t.Run(tr.name, func(t *testing.T) { tr.record(t, r) })
	}
}

func (tr *transcript) record(t *testing.T, r *real) {
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: tr.task.Prompt, Resume: tr.task.Resume || tr.task.Before != "", Approvals: tr.task.Approvals}
	r.sh(t, "rm -rf /workspace/*")
	if tr.task.Before != "" {
		r.answer(t, "default: {say: 'noted'}")
		r.do(t, Task{Session: task.Session, Prompt: tr.task.Before})
	}
	r.answer(t, string(tr.file("model.yaml").Data))
	before := r.last()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := r.container.StartRun(ctx, runSpec(task, Offers{})); err != nil {
		t.Fatal(err)
	}
	if tr.task.StopAfter > 0 {
		r.asked(t, before, tr.task.StopAfter)
		if err := r.container.StopRun(ctx, task.Run); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	st, err := r.container.FollowRun(ctx, task.Run, 0, &out)
	if err != nil {
		t.Fatal(err)
	}
	status, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	tr.file("stdout").Data = out.Bytes()
	tr.file("status.json").Data = append(status, '\n')
	tr.save(t)
}
