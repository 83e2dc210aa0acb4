package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state/event"
)

// said is the message of an event with this content; one that is rejected says
// nothing.
func said(content json.RawMessage) event.Message {
	frame := append([]byte(`{"event_id":"$1","type":"m.room.message","sender":"@ann:x","content":`), content...)
	e, err := decode.FromServer(append(frame, '}'))
	if err != nil || e.Body.Message == nil {
		return event.Message{}
	}
	return *e.Body.Message
}

func TestMentioned(t *testing.T) {
	const bot, name = "@bot:x.org", "Helper"
	for _, c := range []struct {
		content string
		want    bool
	}{
		// With m.mentions. People also type the name at the beginning, and their client finds no mention in it.
		{`{"body":"hi","m.mentions":{"user_ids":["@bot:x.org"]}}`, true},
		{`{"body":"hi","m.mentions":{"user_ids":["@a:x.org","@bot:x.org"]}}`, true},
		{`{"body":"Helper: hi","m.mentions":{}}`, true},
		{`{"body":"helper, hi","m.mentions":{"user_ids":[]}}`, true},
		{`{"body":" @helper hi","m.mentions":{}}`, true},
		{`{"body":"@bot hi","m.mentions":{}}`, true},
		{`{"body":"bot: hi","m.mentions":{}}`, true},
		{`{"body":"@bot:x.org hi","m.mentions":{}}`, true},
		{`{"body":"Helper: ask her","m.mentions":{"user_ids":["@a:x.org"]}}`, true},
		{`{"body":"> <@a:x> hey\n\nHelper: no","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$a"}}}`, true},
		{`{"body":"> <@a:x> Helper: hey\n\nno","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$a"}}}`, false},
		{`{"body":"bot hi","m.mentions":{}}`, false},
		{`{"body":"@bot:y.org hi","m.mentions":{}}`, false},
		{`{"body":"helpers, hi","m.mentions":{}}`, false},
		{`{"body":"the Helper is slow","m.mentions":{}}`, false},
		{`{"body":"ask Helper","m.mentions":{"user_ids":["@Bot:x.org"]}}`, false},
		{`{"body":"@room","m.mentions":{"room":true}}`, false},
		{`{"body":"ask Helper","m.mentions":{"user_ids":"@bot:x.org"}}`, false},
		{`{"body":"hi","m.mentions":{"user_ids":[1,null,{},"@bot:x.org"]}}`, true},
		// An invalid m.mentions is ignored.
		{`{"body":"Helper: hi","m.mentions":null}`, true},
		{`{"body":"Helper: hi","m.mentions":[]}`, true},
		{`{"body":"hi","M.MENTIONS":{"user_ids":["@bot:x.org"]}}`, false},

		// The name, in any case, as a word.
		{`{"body":"Helper"}`, true},
		{`{"body":"hey HELPER, do it"}`, true},
		{`{"body":"helper: do it"}`, true},
		{`{"body":"helper:do it"}`, true},
		{`{"body":"@helper do it"}`, true},
		{`{"body":"(helper)"}`, true},
		{`{"body":"thanks, helper."}`, true},
		{`{"body":"the helper's answer"}`, true},
		{`{"body":"wait\nhelper"}`, true},
		{`{"body":"helpers, and then helper"}`, true},
		{`{"body":"helpers"}`, false},
		{`{"body":"myhelper"}`, false},
		{`{"body":"help er"}`, false},
		{`{"body":"helper_two"}`, false},
		{`{"body":"helper2"}`, false},
		{`{"body":"helperé"}`, false},
		{`{"body":"helper\u0301"}`, false},
		{`{"body":"mail@helper"}`, false},
		{`{"body":"https://helper/"}`, false},
		{`{"body":"helper.org"}`, false},
		{`{"body":"helper@x.org"}`, false},
		{`{"body":"@helper:evil.org"}`, false},
		{`{"body":"bin/helper"}`, false},
		{`{"body":"self-helper"}`, false},
		{`{"body":""}`, false},

		// The full ID.
		{`{"body":"@bot:x.org"}`, true},
		{`{"body":"@bot:x.org: do it"}`, true},
		{`{"body":"ask @bot:x.org."}`, true},
		{`{"body":"@bot:x.orgs"}`, false},
		{`{"body":"@bot:x.org.evil"}`, false},
		{`{"body":"@bot:x.org:8448"}`, false},
		{`{"body":"a@bot:x.org"}`, false},
		{`{"body":"@BOT:x.org"}`, true},
		{`{"body":"bot"}`, false},

		// Links.
		{inHTML(`<a href=\"https://matrix.to/#/@bot:x.org\">B</a>`), true},
		{inHTML(`<a class='x' href='https://matrix.to/#/%40bot%3Ax.org?via=x.org'>B</a>`), true},
		{inHTML(`<a href=\"https://a/\">a</a><a href=\"matrix:u/bot:x.org\">B</a>`), true},
		{inHTML(`<a href=\"https://matrix.to/#/&#64;bot:x.org\">B</a>`), true},
		{inHTML(`<a href=\"https://matrix.to/#/@bot:x.org.evil\">B</a>`), false},
		{inHTML(`<a href=\"https://matrix.to/#/!room:x/@bot:x.org\">B</a>`), false},
		{inHTML(`<a href=\"https://evil/#/@bot:x.org\">B</a>`), false},
		{inHTML(`<a href=\"https://matrix.to/#/@bot:x.org`), false},
		{inHTML(`<a href=`), false},
		{inHTML(`href=href=\"\"href='%zz'`), false},
		{inHTML(`<mx-reply><a href=\"https://matrix.to/#/@bot:x.org\">B</a></mx-reply>hi`), false},
		{`{"body":"hi","formatted_body":"<a href=\"https://matrix.to/#/@bot:x.org\">B</a>"}`, false},

		// Quoted text was written by somebody else.
		{`{"body":"> <@a:x> helper\n> more\n\nno","m.relates_to":{"m.in_reply_to":{"event_id":"$a"}}}`, false},
		{`{"body":"> <@a:x> hi\n\nhelper","m.relates_to":{"m.in_reply_to":{"event_id":"$a"}}}`, true},
		{`{"body":"> <@a:x> helper"}`, true},

		// Anything at all.
		{`{}`, false}, {`[]`, false}, {`null`, false}, {`"Helper"`, false}, {``, false}, {`{"body":"Helper"`, false},
		{`{"body":["Helper"]}`, false}, {`{"body":{"body":"Helper"}}`, false},
	} {
		if got := Addressed(said(json.RawMessage(c.content)), bot, name) == TheBot; got != c.want {
			t.Errorf("%s: %v", c.content, got)
		}
	}
}

func inHTML(formatted string) string {
	return `{"body":"hi","format":"org.matrix.custom.html","formatted_body":"` + formatted + `"}`
}

func TestMentionedByNames(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"", "anything", false},
		{"  ", "any thing", false},
		{" Helper ", "helper?", true},
		{"Helper Two", "hey helper two", true},
		{"Helper Two", "hey helper", false},
		{"Äther", "äTHER hör", true},
		{"straße", "STRAßE", true},
		{"Kelvin", "\u212Aelvin", true},
		{"🤖", "🤖 hi", true},
		{"C++", "C++?", true},
		{"C++", "C++11", false},
		{"a", "a a", true},
	} {
		content, err := json.Marshal(map[string]string{"body": c.body})
		if err != nil {
			t.Fatal(err)
		}
		if got := Addressed(said(content), "@bot:x", c.name) == TheBot; got != c.want {
			t.Errorf("name %q in %q: %v", c.name, c.body, got)
		}
	}
	if Addressed(said(json.RawMessage(`{"m.mentions":{"user_ids":[""]},"body":""}`)), "", "") != Nobody {
		t.Error("a bot without an ID is mentioned")
	}
}

// The largest message that a homeserver accepts, designed to be slow.
func BenchmarkMentioned(b *testing.B) {
	content, err := json.Marshal(map[string]string{
		"body": strings.Repeat("aaaaé", 6_000), "format": "org.matrix.custom.html", "formatted_body": strings.Repeat("href='a'", 3_000),
	})
	if err != nil {
		b.Fatal(err)
	}
	m := said(content)
	for b.Loop() {
		if Addressed(m, "@bot:x", "aaaa") == TheBot {
			b.Fatal("mentioned")
		}
	}
}

func FuzzMentioned(f *testing.F) {
	f.Add([]byte(`{"body":"> <@a:x> b\n\nHelper","m.relates_to":{},"m.mentions":{"user_ids":["@bot:x"]}}`), "Helper")
	f.Add([]byte(`{"body":"x","format":"org.matrix.custom.html","formatted_body":"<a href='https://matrix.to/#/%40bot:x'>"}`), "É")
	f.Add([]byte(`{"body":"\ud800 a\u0000"}`), "\xff")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		m := said(content)
		Addressed(m, "@bot:x", name)
		rest, named := AfterName(m.Body, "@bot:x", name)
		if !strings.HasSuffix(m.Body, rest) || len(rest) > len(m.Body) {
			t.Errorf("%q is not the end of %q", rest, m.Body)
		}
		if m.RelatesTo = (event.Relation{}); named && Addressed(m, "@bot:x", name) != TheBot {
			t.Errorf("%+v begins with the name", m)
		}
		if m.Mentions = []string{"@bot:x"}; Addressed(m, "@bot:x", name) != TheBot {
			t.Errorf("%+v has the mention", m)
		}
	})
}

// Letters that differ only in case are the same, also where a letter has more than two forms.
func TestMentionedInGreek(t *testing.T) {
	for _, body := range []string{"πες ΒΟΗΘΌΣ κάτι", "πες βοηθός κάτι", "πες βοηθόσ κάτι"} {
		if got := Addressed(event.Message{Body: body}, "@bot:x.org", "Βοηθός"); got != TheBot {
			t.Errorf("%s: %v", body, got)
		}
	}
}
