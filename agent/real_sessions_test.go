package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The sessions that the CLI leaves do not grow for ever. What the room still needs stays, however old it is, and what is
// needed later makes no difference to a parked run.
func TestRealSessionsAreBounded(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'note the (heron|owl)', say: 'Noted.'}
  - {when: 'which bird', say: 'That one.'}
`)
	own, asked := uuid(), uuid()
	r.do(t, Task{Session: own, Prompt: "[alice]: note the heron"})
	r.do(t, Task{Session: asked, Prompt: "[alice]: note the owl"})
	age := func() {
		t.Helper()
		r.sh(t, fmt.Sprintf(`touch -d 2020-01-01 /root/.gemini/tmp/*/chats/session-*-%.8s.jsonl /root/.gemini/tmp/*/chats/session-*-%.8s.jsonl`, own, asked))
	}
	r.sh(t, fmt.Sprintf(`cd /root/.gemini/tmp/*/chats
for i in $(seq 10 49); do
	id=000000$i-0000-4000-8000-000000000000
	sed s/%[1]s/$id/g session-*-%.8[1]s.jsonl > session-2026-01-01T00-00-000000$i.jsonl
	touch -d 2026-01-01T00:$i session-2026-01-01T00-00-000000$i.jsonl
	mkdir -p $id ../$id ../tool-outputs/session-$id ../logs
	touch $id/x.jsonl ../logs/session-$id.jsonl
done
echo '{}' > session-unknown.jsonl; touch -d 2019-01-01 session-unknown.jsonl`, own))
	age()
	count := func() string {
		t.Helper()
		return strings.TrimSpace(r.sh(t, `cd /root/.gemini/tmp/*/chats; echo $(ls -d session-2026-01-01* session-unknown* 2>/dev/null | wc -l) $(ls -d 0000* ../0000* | wc -l) $(ls -d ../tool-outputs/session-0000* | wc -l) $(ls ../logs | grep -c 0000)`))
	}
	if got := count(); got != "41 80 40 40" {
		t.Fatalf("prepared: %s", got)
	}
	again := func(task Task) Outcome {
		t.Helper()
		task.Session, task.Resume = own, true
		before := r.last()
		o, _ := r.do(t, task)
		if all := r.questions(before); o.Text != "That one." || len(all) != 1 || !strings.Contains(all[0].Text, "note the heron") {
			t.Errorf("%+v", o)
		}
		return o
	}
	again(Task{Prompt: "[alice]: which bird?"})
	if got := count(); got != "41 80 40 40" {
		t.Errorf("not knowing what is needed, it kept %s", got)
	}
	age()
	again(Task{Prompt: "[alice]: which bird again?", Needed: []string{asked}})
	if got := count(); got != "20 40 20 20" {
		t.Errorf("it kept %s", got)
	}
	if got := r.sh(t, `cd /root/.gemini/tmp/*/chats; ls | grep -e 00000010 -e 00000029 -e unknown; ls session-*00000030.jsonl`); got != "session-2026-01-01T00-00-00000030.jsonl\n" {
		t.Errorf("not the newest: %s", got)
	}
	if _, err := r.agent.Park(t.Context(), r.container, Task{Run: "parked-" + uuid(), Session: own, Resume: true, Needed: []string{}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	r.ready(t)
	if o := again(Task{Prompt: "[alice]: which bird once more?", Needed: []string{asked}}); !o.Status.Warm {
		t.Error("another needed session discarded the parked run")
	}
	if o, _ := r.do(t, Task{Session: asked, Resume: true, Prompt: "[alice]: which bird?"}); o.Ended != SessionGone { // it was not needed for the parked run
		t.Errorf("%+v", o)
	}
}
