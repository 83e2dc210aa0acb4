package bot

import (
	"testing"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

func TestCompany(t *testing.T) {
	b := &Bot{}
	if !b.mayBeAlone("!den") {
		t.Error("a room of which nothing is known is a crowd")
	}
	b.company.learn("!den", b.company.version(), 3)
	if b.mayBeAlone("!den") {
		t.Error("three are two")
	}
	said := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	left := decoded(t, `{"event_id":"$2","type":"m.room.member","sender":"@bob:here","state_key":"@bob:here","content":{"membership":"leave"}}`)
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said}}}})
	if b.mayBeAlone("!den") {
		t.Error("a message changes how many are there")
	}
	asked := b.company.version()
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said, left}}}})
	if !b.mayBeAlone("!den") {
		t.Error("it is still known how many were there before somebody left")
	}
	b.company.learn("!den", asked, 3)
	if !b.mayBeAlone("!den") {
		t.Error("an answer from before a change counts")
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		reply policy.Reply
		alone bool
		want  string
	}{
		{"", false, "To give me a task, mention me (`bot`) or reply to me and say what you want done, in your own words."},
		{"", true, "Tell me what you want done, in your own words. Once more people are here, mention me (`bot`) or reply to me."},
		{policy.All, false, "Tell me what you want done, in your own words."},
		{policy.MentionOnly, true, "To give me a task, mention me (`bot`) or reply to me and say what you want done, in your own words."},
	} {
		if got := address(c.reply, c.alone, "bot"); got != c.want {
			t.Errorf("%q, alone %v: %s", c.reply, c.alone, got)
		}
	}
}
