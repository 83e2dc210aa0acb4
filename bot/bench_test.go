package bot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/admit"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/roster"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// BenchmarkMessage measures what one message costs the bot itself: decoding it, deciding
// whether it is a task, and rendering an answer of two kilobytes.
func BenchmarkMessage(b *testing.B) {
	dir := b.TempDir()
	file := "defaults:\n  allow: ['@*:friends', '@ann:here']\n  block: ['@troll:friends']\n  reply: mention_only\nrooms:\n"
	for i := range 50 {
		file += fmt.Sprintf("  '!room%d:here':\n    allow: ['@*:friends', '@guest%d:there']\n    reply: mention_only\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(file), 0o600); err != nil {
		b.Fatal(err)
	}
	account, err := matrix.New(matrix.Config{Homeserver: "http://127.0.0.1:1", User: "@bot:here", Log: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	judge := &admit.Judge{Account: account, Roster: &roster.Roster{Access: roster.Access{Policy: policy.Open(dir, zerolog.Nop()), Owners: []string{"@ann:here"}}}, Profile: &presence.Profile{}, Waits: pending.New()}
	text := "@bot:here please look why the nightly build is red since the third, and mend it. " + strings.Repeat("It says that a file is missing. ", 20)
	raw := fmt.Appendf(nil, `{"event_id":"$1","type":"m.room.message","sender":"@bob:friends","content":{"msgtype":"m.text","body":%q,"format":"org.matrix.custom.html","formatted_body":"<p>%s</p>"}}`, text, text)
	said := "# Done\n\n" + strings.Repeat("- `nightly.yml` named a **file** that is [gone](https://example.org)\n", 20) + "\n```go\n" + strings.Repeat("func main() { println(1 < 2) }\n", 20) + "```\n"
	for b.Loop() {
		e, err := decode.FromServer(raw)
		e.Room = "!room7:here"
		got := judge.Judged(b.Context(), state.Event{Event: e}).Kind
		if err != nil || got != event.KindMessage {
			b.Fatal("not a task", got)
		}
		for _, part := range matrix.Parts(said) {
			if part == "" {
				b.Fatal("no content")
			}
		}
	}
}
