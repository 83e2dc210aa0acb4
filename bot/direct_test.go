package bot

import (
	"testing"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/state/event"
)

func TestMemberCounts(t *testing.T) {
	b := &Bot{}
	if !b.mayBeAlone("!den") {
		t.Error("a room with an unknown number of members counts as more than two")
	}
	b.members.Learn("!den", b.members.Version(), 3)
	if b.mayBeAlone("!den") {
		t.Error("three members count as two")
	}
	said := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	left := decoded(t, `{"event_id":"$2","type":"m.room.member","sender":"@bob:here","state_key":"@bob:here","content":{"membership":"leave"}}`)
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said}}}})
	if b.mayBeAlone("!den") {
		t.Error("a message changed the number of members")
	}
	asked := b.members.Version()
	b.noteMembers(&matrix.Sync{Joined: map[string]matrix.Room{"!den": {Timeline: []event.Event{said, left}}}})
	if !b.mayBeAlone("!den") {
		t.Error("the number is still known after somebody left")
	}
	b.members.Learn("!den", asked, 3)
	if !b.mayBeAlone("!den") {
		t.Error("a number from before the change was stored")
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
