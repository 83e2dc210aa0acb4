package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"matrix-tui/bot/bottest/person"
)

func TestWhatTheChatShows(t *testing.T) {
	const bot, you = "@bot:x", "@you:x"
	c := &chat{bot: bot, label: "bot (scripted model)"}
	text := person.Msg{Event: "$1", Type: "m.room.message", Kind: "m.text", Sender: bot, Body: "done\n\x1b[2Jok", ReplyTo: "$0"}
	with := func(change func(*person.Msg)) person.Msg {
		m := text
		change(&m)
		return m
	}
	for name, tt := range map[string]struct {
		msg              person.Msg
		id, line, showed string
	}{
		"answer":    {msg: text, showed: "bot (scripted model): done\nok"},
		"greeting":  {msg: with(func(m *person.Msg) { m.Kind, m.ReplyTo = "m.notice", "" }), showed: "bot (scripted model): done\nok"},
		"progress":  {msg: with(func(m *person.Msg) { m.Kind = "m.notice" }), id: "$1", line: "bot (scripted model): done ok"},
		"its edit":  {msg: with(func(m *person.Msg) { m.Kind, m.ReplyTo, m.EditOf = "m.notice", "", "$9" }), id: "$9", line: "bot (scripted model): done ok"},
		"a person":  {msg: with(func(m *person.Msg) { m.Sender = you }), showed: "you: done\nok"},
		"its edit'": {msg: with(func(m *person.Msg) { m.Sender, m.EditOf = you, "$1" }), showed: "you (changed): done\nok"},
		"a file":    {msg: with(func(m *person.Msg) { m.Kind, m.Body, m.URL = "m.file", "answer.md", "mxc://x/y" }), showed: "bot (scripted model): [file] answer.md"},
		"reaction":  {msg: with(func(m *person.Msg) { m.Type = "m.reaction" })},
		"removed":   {msg: with(func(m *person.Msg) { m.Redacted = true })},
	} {
		t.Run(name, func(t *testing.T) {
			id, line := c.progress(tt.msg)
			if id != tt.id || line != tt.line {
				t.Errorf("progress = %q, %q; want %q, %q", id, line, tt.id, tt.line)
			}
			if got := c.text(tt.msg); id == "" && got != tt.showed {
				t.Errorf("text = %q, want %q", got, tt.showed)
			}
		})
	}
}

// The next chat begins with what may be unread, without old notices.
func TestKnown(t *testing.T) {
	before := []person.Msg{
		{Event: "$task", Sender: "@alex:x", Kind: "m.text"}, {Event: "$work", Sender: "@bot:x", Kind: "m.notice"},
		{Event: "$answer", Sender: "@bot:x", Kind: "m.text"}, {Event: "$more", Sender: "@bot:x", Kind: "m.text"},
	}
	for seen, want := range map[string]string{"": "$task $work", "$answer": "$answer $task $work", "$more": "$answer $more $task $work"} {
		if got := strings.Join(slices.Sorted(maps.Keys(known("@alex:x", seen, before))), " "); got != want {
			t.Errorf("after %q %s is known, want %s", seen, got, want)
		}
	}
}

func TestEnrol(t *testing.T) {
	dir := t.TempDir()
	a, err := loadAccounts(dir)
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	register := func(account demoAccount) error {
		tried = append(tried, account.Name)
		kept, err := loadAccounts(dir)
		if err != nil || kept.You != account {
			t.Errorf("the account is registered before it is stored: %+v, %v", kept, err)
		}
		if account.Name == "alex" {
			return errors.New("taken")
		}
		return nil
	}
	if err := a.enrol(&a.You, "alex", register); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tried, " "); !regexp.MustCompile(`^alex alex-[a-z2-7]{6}$`).MatchString(got) {
		t.Errorf("names tried: %q", got)
	}
	again, err := loadAccounts(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.enrol(&again.You, "alex", register); err != nil || again.You != a.You || len(tried) != 3 {
		t.Errorf("the previous account is not used: %+v, %v, tried %q", again.You, err, tried)
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadAccounts(dir); err == nil || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("a broken file: %v", err)
	}
}
