package bot

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// In a group, where a picture cannot mention the bot, it belongs to the words that its sender writes right after it.
func TestFilesBeforeMentionInGroup(t *testing.T) {
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
	d.text("$1", "@ann:here", "@bot:here a task", 0)
	d.says("$2", "@ann:here", "m.room.message", aFile, 200*time.Millisecond)
	d.decides()
	d.running("$1")
	d.says("$3", "@ann:here", "m.room.message", aFile, 5*time.Second)
	d.text("$4", "@bob:here", "nice", time.Second)
	d.says("$5", "@ann:here", "m.room.message", aFile, time.Second)
	d.text("$6", "@ann:here", "@bot:here what is on these pictures?", 10*time.Second)
	d.says("$7", "@ann:here", "m.room.message", aFile, time.Minute)
	d.text("$8", "@ann:here", "@bot:here another task", time.Minute)
	d.says("$9", "@ann:here", "m.room.message", strings.TrimSuffix(aFile, "}")+`,"m.mentions":{"user_ids":["@bob:here"]}}`, time.Minute)
	d.text("$10", "@ann:here", "@bot:here what is the time?", 10*time.Second)
	d.decides()
	for asked, want := range map[string][]string{"$1": {"$2"}, "$6": {"$3", "$5"}, "$8": nil, "$10": nil} {
		rec, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, asked)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, said := range rec.Said {
			got = append(got, said.Event)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the files of %s are %q, want %q", asked, got, want)
		}
	}
}
