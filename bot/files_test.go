package bot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
	"matrix-tui/bot/media"
	"matrix-tui/state"
)

func fileRow(eventType, content string) state.Inbound {
	return state.Inbound{Room: "!den:here", Event: "$e1", Sender: "@ann:here", Type: eventType,
		Raw: json.RawMessage(`{"event_id":"$e1","type":"` + eventType + `","sender":"@ann:here","content":` + content + `}`)}
}

func TestTaskOfAFile(t *testing.T) {
	r := &room{bot: &Bot{}, id: "!den:here"}
	for _, c := range []struct{ name, eventType, content, want string }{
		{"alone", "m.room.message", `{"msgtype":"m.image","body":"cat.png","url":"mxc://here/a"}`, "A file came."},
		{"with the same name twice", "m.room.message", `{"msgtype":"m.file","body":"a","filename":"a"}`, "A file came."},
		{"with a caption", "m.room.message", `{"msgtype":"m.image","body":"which bird?","filename":"a.png"}`, "A file came.\nwhich bird?"},
		{"by command", "m.room.message", `{"msgtype":"m.image","body":"!task which bird?","filename":"a.png"}`, "A file came.\nwhich bird?"},
		{"a reply", "m.room.message", `{"msgtype":"m.image","body":"> <@bob:here> old\n\nwhich bird?","filename":"a.png","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`, "A file came.\nwhich bird?"},
		{"spoken", "m.room.message", `{"msgtype":"m.audio","body":"v.ogg","org.matrix.msc3245.voice":{}}`, "[Voice Message]"},
		{"a sticker", "m.sticker", `{"body":"wave"}`, "A file came."},
		{"no file", "m.room.message", `{"msgtype":"m.text","body":"cat.png","filename":"a"}`, "cat.png"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, err := taskFrom(fileRow(c.eventType, c.content))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, newTask(r, rec).text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where an answer's file lies is known before it is fetched.
func TestFileAnswer(t *testing.T) {
	f, ok := fileOf(fileRow("m.room.message", `{"msgtype":"m.image","body":"this one","filename":"../a b.png"}`))
	if !ok {
		t.Fatal("no file")
	}
	if diff := cmp.Diff("this one\n/workspace/inbox/e1-a_b.png", fileAnswer(f, "$e1", f.Caption)); diff != "" {
		t.Error(diff)
	}
	if _, ok := fileOf(fileRow("m.room.message", `{"msgtype":"m.text","body":"this one"}`)); ok {
		t.Error("a text is a file")
	}
}

// A session that goes on hears of the files that it does not know.
func TestPromptFiles(t *testing.T) {
	const answer = media.InboxDir + "/c-c"
	asked := &agent.Execution{Answers: []agent.Answer{{Answer: answer, Event: "$c"}}}
	files := []state.File{{Event: "$e1"}, {Event: "$a"}, {Event: "$b"}, {Event: "$c"}}
	for i := range files {
		files[i].Path = files[i].Event
	}
	steer := []state.Said{{Event: "$a", File: true}, {Event: "$x"}, {Event: "$b", File: true}}
	for _, c := range []struct {
		name    string
		rec     state.Details
		asked   *agent.Execution
		resumed bool
		want    string
	}{
		{"a new session", state.Details{Files: files, Said: steer, Told: 2}, asked, false, "$e1 $a $b $c"},
		{"steered", state.Details{Files: files, Said: steer, Told: 2}, &agent.Execution{}, true, "$b"},
		{"nothing told yet", state.Details{Files: files[:3], Said: steer}, &agent.Execution{}, true, "$e1 $a $b"},
		{"answered", state.Details{Files: files, Said: steer, Told: 3}, asked, true, "$c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := &task{room: &room{}, exec: c.asked, rec: state.Task{Event: "$e1", HasFile: true, Details: c.rec}}
			var got []string
			for _, f := range task.promptFiles(c.resumed) {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"$e1", "$a", "$b"}, task.fileEvents()[:3]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpokenWithFiles(t *testing.T) {
	task := &task{room: &room{}, text: fileCame, rec: state.Task{Details: state.Details{Said: []state.Said{
		{File: true, Joined: true}, {Text: "look at both", Joined: true}, {File: true},
	}}}}
	text, later := task.spoken()
	if diff := cmp.Diff("A file came.\nlook at both", text); diff != "" {
		t.Error(diff)
	}
	if len(later) != 1 || wordsOf(later[0]) != fileCame {
		t.Errorf("later: %v", later)
	}
}

// A file joins the task before it as a text does; in a room where the bot must be
// mentioned, too.
func TestFileJoins(t *testing.T) {
	at := time.UnixMilli(1_000_000)
	r := &room{bot: &Bot{Config: Config{Debounce: time.Second}}, id: "!den:here"}
	r.current = newTask(r, state.Task{Key: "k", Requester: "@ann:here", Seq: 4})
	r.current.lastPart.Store(at.UnixMilli())
	event := func(sender, content string, after time.Duration) wireEvent {
		e, ok := parseEvent(json.RawMessage(fmt.Sprintf(`{"event_id":"$2","type":"m.room.message","sender":%q,"origin_server_ts":%d,"content":%s}`,
			sender, at.Add(after).UnixMilli(), content)))
		if !ok {
			t.Fatal("event does not parse")
		}
		return e
	}
	const image = `{"msgtype":"m.image","body":"a.png"}`
	for _, c := range []struct {
		name  string
		event wireEvent
		want  bool
	}{
		{"right behind", event("@ann:here", image, 900*time.Millisecond), true},
		{"later", event("@ann:here", image, 1100*time.Millisecond), false},
		{"of somebody else", event("@bob:here", image, 0), false},
		{"a text", event("@ann:here", `{"msgtype":"m.text","body":"a"}`, 0), false},
	} {
		if got := r.couldJoin(t.Context(), c.event); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	r.bot.Debounce = 0
	if r.couldJoin(t.Context(), event("@ann:here", image, 0)) {
		t.Error("it joins without debounce")
	}
}

func TestWithTxn(t *testing.T) {
	got, err := withTxn(json.RawMessage(`{"msgtype":"m.file","body":"a"}`), "k-o1")
	if err != nil {
		t.Fatal(err)
	}
	e, _ := parseEvent(json.RawMessage(fmt.Sprintf(`{"event_id":"$1","type":"m.room.message","sender":"@bot:here","content":%s}`, got)))
	if txn := ownTransaction(e, "@bot:here"); txn != "k-o1" {
		t.Errorf("%q in %s", txn, got)
	}
}

func TestRefusedText(t *testing.T) {
	if got := refusedText(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	want := "Not everything in the outbox was sent:\n\n- `a_b` is a link.\n- 3 others stay."
	if diff := cmp.Diff(want, refusedText([]media.Refusal{{Name: "a_b", Why: "is a link"}, {Why: "3 others stay"}})); diff != "" {
		t.Error(diff)
	}
}

// What a former life left in the clear goes.
func TestEmptyTmp(t *testing.T) {
	b := &Bot{Config: Config{StateDir: t.TempDir()}}
	for range 2 {
		if err := b.emptyTmp(); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(b.tmp())
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		if info, err := os.Stat(b.tmp()); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatal(info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(b.tmp(), "inbox-1"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is replied to comes with the task; in a thread the reply is for old
// clients only.
func TestFilesRepliedTo(t *testing.T) {
	for content, want := range map[string]string{
		`{"msgtype":"m.text","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`:                                                              "$0",
		`{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$9","m.in_reply_to":{"event_id":"$0"}}}`:                        "$0",
		`{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$9","is_falling_back":true,"m.in_reply_to":{"event_id":"$0"}}}`: "",
		`{"msgtype":"m.text","body":"x"}`: "",
		`{"msgtype":"m.file","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`: "$e1 $0",
	} {
		rec, err := taskFrom(fileRow("m.room.message", content))
		if err != nil {
			t.Fatal(err)
		}
		task := newTask(&room{bot: &Bot{}, id: "!den:here"}, rec)
		if diff := cmp.Diff(want, strings.Join(task.fileEvents(), " ")); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
	}
}
