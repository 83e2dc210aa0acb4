package bot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/outbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/transcripts"
)

// testGateway serves no room.
var testGateway = gateway.New(gateway.Config{})

// deciding is a room of a bot that is not connected and starts no tasks.
type deciding struct {
	*room
	t  *testing.T
	at time.Time
}

func newDeciding(t *testing.T, policy string) *deciding {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, err := state.OpenJournal(t.Context(), filepath.Join(dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	store, err := state.OpenStore(t.Context(), journal, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	transcripts, err := transcripts.Open(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{Homeserver: "http://127.0.0.1:1", User: "@bot:here", StateDir: dir, Owners: []string{"@ann:here"}, Debounce: time.Second, Log: zerolog.Nop()},
		Parts{Journal: journal, Store: store, Transcripts: transcripts, Gateway: testGateway, Route: gemini.NewRoute(gemini.RouteConfig{}, testGateway)})
	if err != nil {
		t.Fatal(err)
	}
	b.ctx, b.work.Context = t.Context(), t.Context()
	return &deciding{room: b.room("!den:here"), t: t, at: time.UnixMilli(1_700_000_000_000)}
}

// says commits an event, after the given time since the previous one.
func (d *deciding) says(id, sender, eventType, content string, after time.Duration) {
	d.t.Helper()
	d.at = d.at.Add(after)
	raw := fmt.Sprintf(`{"event_id":%q,"type":%q,"sender":%q,"origin_server_ts":%d,"content":%s}`, id, eventType, sender, d.at.UnixMilli(), content)
	d.commit(raw)
}

// commit stores a pending event of the room.
func (d *deciding) commit(raw string) {
	d.t.Helper()
	row := state.Event{Event: d.bot.judge.Understood(decoded(d.t, raw)), Status: state.Pending}
	row.Room = d.id
	if _, err := d.bot.Journal.Events.Commit(d.t.Context(), "", []state.Event{row}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deciding) text(id, sender, body string, after time.Duration) {
	d.t.Helper()
	content, _ := json.Marshal(map[string]string{"msgtype": "m.text", "body": body})
	d.says(id, sender, "m.room.message", string(content), after)
}

// decides decides all pending events.
func (d *deciding) decides() {
	d.t.Helper()
	next := d.undecided()
	for {
		do, err := next(d.t.Context())
		if err == nil && do == nil {
			return
		}
		if err == nil {
			err = do()
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// line returns the queued tasks with their added messages and reactions.
func (d *deciding) line() (line []string) {
	d.t.Helper()
	tasks, err := d.bot.Journal.Tasks.In(d.t.Context(), d.id, state.TaskQueued)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, task := range tasks {
		text := task.Text
		for _, said := range task.Said {
			text += " + " + said.Text
		}
		if _, err := d.bot.Journal.Messages.Get(d.t.Context(), task.Key+"-queued"); err == nil {
			text += " ⏳"
		}
		if task.Withdrawn {
			text += " withdrawn"
		}
		line = append(line, text)
	}
	return line
}

const everything = "defaults:\n  allow: ['@*:here']\n  reply: all\n"

// Events are decided in order, once, and those that are not tasks do not wait for tasks.
func TestDecide(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "first", 0)
	d.text("$2", "@ann:here", "and more", 500*time.Millisecond)
	d.text("$3", "@bob:here", "second", 100*time.Millisecond)
	d.text("$4", "@ann:here", "!task third", time.Minute)
	d.text("$5", "@bob:here", "fourth", time.Minute)
	d.says("$6", "@bob:here", "m.room.message", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"second, changed"},"m.relates_to":{"rel_type":"m.replace","event_id":"$3"}}`, 0)
	d.says("$7", "@ann:here", "m.room.message", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"and less"},"m.relates_to":{"rel_type":"m.replace","event_id":"$2"}}`, 0)
	d.says("$8", "@bob:here", "m.room.redaction", `{"redacts":"$5"}`, 0)
	d.text("$9", "@ann:here", "!stop", 0)
	for range 2 { // the second time there is nothing to do
		d.decides()
		want := []string{"first + and less", "second, changed ⏳", "third ⏳", "(deleted) ⏳ withdrawn"}
		if diff := cmp.Diff(want, d.line()); diff != "" {
			t.Error(diff)
		}
	}
	if told, err := d.bot.Journal.Messages.Get(t.Context(), outbox.ToldTxn(state.Event{Event: event.Event{Room: d.id, ID: "$9"}})); err != nil || told.Kind != state.KindReply {
		t.Errorf("!stop is told %s, %v", told.Body, err)
	}
	if left, err := d.bot.Journal.Events.Pending(t.Context(), d.id, 0, 9); err != nil || len(left) > 0 {
		t.Errorf("%d events are left, %v", len(left), err)
	}
}

// A tombstone waits for the tasks before it and is done before those after it.
func TestTombstoneQueued(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "first", 0)
	d.at = d.at.Add(time.Minute)
	d.commit(fmt.Sprintf(`{"event_id":"$2","type":"m.room.tombstone","state_key":"","sender":"@ann:here","origin_server_ts":%d,"content":{"replacement_room":"!house:here"}}`, d.at.UnixMilli()))
	d.text("$3", "@ann:here", "second", time.Minute)
	if do, err := d.nextTask(t.Context()); do != nil || err != nil {
		t.Errorf("the tombstone is followed before what came earlier is decided: %v", err)
	}
	d.decides()
	if !d.bot.upgrades.Moves(d.id) {
		t.Error("the tombstone is not known")
	}
	first, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.nextTask(t.Context()); err != nil || d.turn.Current() == nil || d.turn.Current().Key() != first.Key {
		t.Fatalf("at work: %v, %v", d.turn.Current(), err)
	}
	d.turn.Leave(d.turn.Current())
	if err := d.bot.Journal.Tasks.Finish(t.Context(), first.Key); err != nil {
		t.Fatal(err)
	}
	if do, err := d.nextTask(t.Context()); do == nil || err != nil || d.turn.Current() != nil {
		t.Errorf("a task is begun before the tombstone: %v, %v", d.turn.Current(), err)
	}
}

// After a restart, the task whose run goes on is continued before an older one that has got its answer meanwhile.
func TestBegunFirst(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "paint the red shed", 0)
	d.text("$2", "@ann:here", "paint the blue shed", time.Minute)
	d.decides()
	for event, container := range map[string]string{"$1": "", "$2": "c"} { // both have their answers
		rec, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, event)
		if err != nil {
			t.Fatal(err)
		}
		rec.Container = container
		if err := d.bot.Journal.Tasks.Claim(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	for range 2 {
		if _, err := d.nextTask(t.Context()); err != nil || d.turn.Current() == nil {
			t.Fatalf("no task is up next: %v", err)
		}
		key := d.turn.Current().Key()
		order = append(order, key)
		d.turn.Leave(d.turn.Current())
		if err := d.bot.Journal.Tasks.Finish(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{state.KeyOf(d.id, "$2"), state.KeyOf(d.id, "$1")}, order); diff != "" {
		t.Error(diff)
	}
}

// A task whose requester was blocked since does not start.
func TestBlockedWhileQueued(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@bob:here", "first", 0)
	d.text("$2", "@ann:here", "second", time.Minute)
	d.decides()
	if err := d.bot.policy.Block("@bob:here", ""); err != nil {
		t.Fatal(err)
	}
	do, err := d.nextTask(t.Context())
	if err != nil || do == nil || d.turn.Current() != nil {
		t.Fatalf("%v, %v", d.turn.Current(), err)
	}
	if err := do(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"second ⏳"}, d.line()); diff != "" {
		t.Error(diff)
	}
}

// decoded returns an event of a room as the homeserver sends it.
func decoded(t *testing.T, raw string) event.Event {
	t.Helper()
	e, err := decode.FromServer(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e
}
