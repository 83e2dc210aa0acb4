package admit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

func TestKindOf(t *testing.T) {
	hear := func(e event.Event) policy.Decision {
		known := e.Sender == "@ann:here" || e.Sender == "@bob:friends"
		return policy.Decision{Heard: known, Reply: known && !strings.Contains(string(e.Content), "among themselves"), Pair: e.Sender == "@new:here"}
	}
	message := func(sender, content string) string {
		return fmt.Sprintf(`{"event_id":"$1","type":"m.room.message","sender":%q,"content":%s}`, sender, content)
	}
	reaction := func(sender, content string) string {
		return fmt.Sprintf(`{"event_id":"$1","type":"m.reaction","sender":%q,"content":%s}`, sender, content)
	}
	member := func(sender, whose, now, before string) string {
		return fmt.Sprintf(`{"event_id":"$1","type":"m.room.member","sender":%q,"state_key":%q,"content":{"membership":%q},"unsigned":{"prev_content":{"membership":%q}}}`,
			sender, whose, now, before)
	}
	for _, c := range []struct {
		name, event string
		want        event.Kind
	}{
		{"a task of an owner", message("@ann:here", `{"msgtype":"m.text","body":"do it"}`), event.KindMessage},
		{"a task of an allowed server", message("@bob:friends", `{"msgtype":"m.text","body":"do it"}`), event.KindMessage},
		{"an emote", message("@ann:here", `{"msgtype":"m.emote","body":"wants tea"}`), event.KindMessage},
		{"a stranger", message("@eve:there", `{"msgtype":"m.text","body":"do it"}`), event.KindContext},
		{"a server with a longer name", message("@eve:friends.evil", `{"msgtype":"m.text","body":"do it"}`), event.KindContext},
		{"a message that is not for us", message("@ann:here", `{"msgtype":"m.text","body":"among themselves"}`), event.KindContext},
		{"somebody who can be paired", message("@new:here", `{"msgtype":"m.text","body":"do it"}`), event.KindStranger},
		{"a notice of somebody who can be paired", message("@new:here", `{"msgtype":"m.notice","body":"do it"}`), event.KindContext},
		{"a redaction", `{"event_id":"$1","type":"m.room.redaction","sender":"@ann:here","redacts":"$0","content":{}}`, event.KindRedaction},
		{"a word close to a command", message("@ann:here", `{"msgtype":"m.text","body":"!hlep"}`), event.KindCommand},
		{"ourselves", message(self, `{"msgtype":"m.text","body":"do it"}`), event.KindContext},
		{"a notice", message("@ann:here", `{"msgtype":"m.notice","body":"beep"}`), event.KindContext},
		{"an edit", message("@ann:here", `{"msgtype":"m.text","body":"* x","m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}`), event.KindContext},
		{"an edit with its new text", message("@ann:here", `{"msgtype":"m.text","body":"* x","m.new_content":{"body":"x"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}`), event.KindEdit},
		{"an edit of a stranger", message("@eve:there", `{"msgtype":"m.text","body":"* x","m.new_content":{"body":"x"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}`), event.KindContext},
		{"a message in a thread", message("@ann:here", `{"msgtype":"m.text","body":"x","m.relates_to":{"rel_type":"m.thread","event_id":"$0"}}`), event.KindMessage},
		{"a stop", message("@ann:here", `{"msgtype":"m.text","body":"!stop"}`), event.KindCommand},
		{"a stop by a stranger", message("@eve:there", `{"msgtype":"m.text","body":"!stop"}`), event.KindContext},
		{"a task by command", message("@ann:here", `{"msgtype":"m.text","body":"!task do it"}`), event.KindTask},
		{"a task by command, without a word", message("@ann:here", `{"msgtype":"m.text","body":"!task"}`), event.KindCommand},
		{"a word that is no command", message("@ann:here", `{"msgtype":"m.text","body":"!important: do it"}`), event.KindMessage},
		{"a reaction", reaction("@ann:here", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"✅"}}`), event.KindReaction},
		{"a reaction of our own", reaction(self, `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"✅"}}`), event.KindContext},
		{"a reaction of a stranger", reaction("@eve:there", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"✅"}}`), event.KindContext},
		{"a reaction that was redacted", reaction("@ann:here", `{}`), event.KindContext},
		{"a reply", message("@ann:here", `{"msgtype":"m.text","body":"x","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}`), event.KindMessage},
		{"nothing but space", message("@ann:here", `{"msgtype":"m.text","body":" \n"}`), event.KindContext},
		{"an image", message("@ann:here", `{"msgtype":"m.image","body":"cat.png"}`), event.KindMessage},
		{"a file whose name looks like a command", message("@ann:here", `{"msgtype":"m.file","body":"!stop"}`), event.KindMessage},
		{"a file with a command for its caption", message("@ann:here", `{"msgtype":"m.file","body":"!stop","filename":"a.txt"}`), event.KindCommand},
		{"a file whose name is none", message("@ann:here", `{"msgtype":"m.video","body":"a.mp4","filename":["!stop"]}`), event.KindMessage},
		{"a nameless file", message("@ann:here", `{"msgtype":"m.audio"}`), event.KindMessage},
		{"a stranger's file", message("@eve:there", `{"msgtype":"m.image","body":"cat.png"}`), event.KindContext},
		{"a sticker", `{"event_id":"$1","type":"m.sticker","sender":"@ann:here","content":{"body":"wave","url":"mxc://here/a"}}`, event.KindMessage},
		{"a sticker of a stranger", `{"event_id":"$1","type":"m.sticker","sender":"@eve:there","content":{"body":"wave"}}`, event.KindContext},
		{"a place", message("@ann:here", `{"msgtype":"m.location","body":"geo:1,2"}`), event.KindMessage},
		{"content of another shape", message("@ann:here", `{"msgtype":["m.text"],"body":7}`), event.KindContext},
		{"a redacted message", message("@ann:here", `{}`), event.KindContext},
		{"an encrypted message", `{"event_id":"$1","type":"m.room.encrypted","sender":"@ann:here","content":{}}`, event.KindContext},
		{"our join", member(self, self, "join", "invite"), event.KindEntered},
		{"our new name", member(self, self, "join", "join"), event.KindContext},
		{"somebody's join", member("@ann:here", "@ann:here", "join", ""), event.KindJoined},
		{"somebody's leave", member("@ann:here", "@ann:here", "leave", "join"), event.KindLeft},
		{"a tombstone", `{"event_id":"$1","type":"m.room.tombstone","sender":"@ann:here","state_key":"","content":{}}`, event.KindTombstone},
		{"a false tombstone", `{"event_id":"$1","type":"m.room.tombstone","sender":"@ann:here","content":{}}`, event.KindContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judgedAs(decoded(t, c.event), hear); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// judgedAs returns the kind of an event of which the policy says this.
func judgedAs(e event.Event, hear func(event.Event) policy.Decision) event.Kind {
	d := hear(e)
	k, _ := permitted(kindOf(e, self), d, d, func() bool { return false })
	return k
}

// A message that is not addressed to the bot counts if the two are alone, or if it may concern a task.
func TestPermitted(t *testing.T) {
	reply, unasked, off := policy.Decision{Heard: true, Reply: true}, policy.Decision{Heard: true, Reason: policy.ReasonNotMentioned}, policy.Decision{Heard: true, Reason: policy.ReasonOff}
	for _, c := range []struct {
		among, now policy.Decision
		concerns   bool
		want       event.Addressee
	}{
		{reply, reply, false, event.ToBot}, {unasked, reply, false, event.ToBotIfAlone}, {unasked, reply, true, event.ToBotIfAlone},
		{unasked, unasked, true, event.Perhaps}, {unasked, unasked, false, ""}, {off, off, true, event.Perhaps},
		{policy.Decision{Heard: true, Reason: policy.ReasonOwnerOnly}, policy.Decision{Heard: true, Reason: policy.ReasonOwnerOnly}, true, ""},
	} {
		k, to := permitted(event.KindMessage, c.among, c.now, func() bool { return c.concerns })
		if to != c.want || (k == event.KindContext) != (to == "") {
			t.Errorf("%+v, %+v, %v: %s to %q", c.among, c.now, c.concerns, k, to)
		}
	}
}

// FuzzEvent runs arbitrary bytes through everything that reads events.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`))
	f.Add([]byte(`{"event_id":"$1","type":"m.room.member","sender":"@a:b","state_key":"@bot:here","content":{"membership":"join"}}`))
	f.Add([]byte(`{"event_id":1,"type":[],"content":null,"unsigned":{"prev_content":7}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decode.FromServer(raw)
		if err != nil {
			return
		}
		k := judgedAs(e, func(event.Event) policy.Decision { return policy.Decision{Heard: true, Reply: true} })
		if m, isMessage := e.Message(); isMessage {
			_ = m.Words()
		}
		if k == event.KindMessage && e.Sender == self {
			t.Fatal("our own message is a task")
		}
	})
}

// FuzzHTMLIn checks that, for any HTML and text, the task is what the user wrote, without
// the quote of the message it replies to.
func FuzzHTMLIn(f *testing.F) {
	f.Add("> <@bob:here> old\n> words\n\nnew", "<mx-reply><blockquote>old</blockquote></mx-reply>new", true)
	f.Add("> * <@bob:here> waves\n\nnew", "<mx-reply>"+strings.Repeat("<blockquote>", 1000), true)
	f.Add("> quoted by hand\n\nnew", strings.Repeat("<a href=\"", 1000), false)
	f.Add("> <@bob:here> nothing else", strings.Repeat("<a href='https://matrix.to/#/%40bot%3Ahere'>", 100), true)
	f.Fuzz(func(t *testing.T, body, formatted string, reply bool) {
		content := map[string]any{"msgtype": "m.text", "body": body, "format": "org.matrix.custom.html", "formatted_body": formatted}
		said := func() event.Message {
			raw, err := json.Marshal(map[string]any{"event_id": "$1", "sender": "@ann:here", "type": "m.room.message", "content": content})
			if err != nil {
				t.Fatal(err)
			}
			m, spoken := decoded(t, string(raw)).Message()
			if !spoken {
				t.Fatalf("%s is no message", raw)
			}
			return m
		}
		whole, m := said().Body, said()
		if reply {
			content["m.relates_to"] = map[string]any{"m.in_reply_to": map[string]any{"event_id": "$0"}}
			m = said()
		}
		text := m.Words()
		if !strings.HasSuffix(strings.TrimSpace(whole), strings.TrimSpace(text)) {
			t.Fatalf("%q became %q", whole, text)
		}
		quoted := reply && (strings.HasPrefix(text, "> <") || strings.HasPrefix(text, "> * <"))
		if _, words, _ := strings.Cut(whole, "\n\n"); quoted && strings.TrimSpace(words) != "" && !strings.HasPrefix(words, ">") && !strings.Contains(words, "\n> ") {
			if head, _, _ := strings.Cut(whole, "\n\n"); !strings.Contains(strings.ReplaceAll(head, "\n> ", ""), "\n") {
				t.Fatalf("the quotation stayed: %q", text)
			}
		}
		kindOfMessage(m)
	})
}
