package main

import (
	"strings"
	"testing"
)

// Memory, files, goroutines, rows and disk must not grow more than what people do explains.
func TestFlat(t *testing.T) {
	// A run of two hours: the phase in which the bot is killed, and the two halves of the last one.
	first := sample{idle: true, acts: 2000, memory: 60, files: 40, goroutines: 90, disk: 36, rows: 38_000}
	last := sample{idle: true, acts: 3155, memory: 62, files: 41, goroutines: 91, disk: 54.6, rows: 60_124}
	for name, c := range map[string]struct {
		change func(x *sample)
		want   string
	}{
		"as it was":          {func(*sample) {}, ""},
		"memory":             {func(x *sample) { x.memory += 10 }, "memory grew"},
		"files":              {func(x *sample) { x.files += 10 }, "open files grew"},
		"goroutines":         {func(x *sample) { x.goroutines += 10 }, "goroutines grew"},
		"rows":               {func(x *sample) { x.rows += 25_000 }, "rows grew from 38000 to 85124 with 1155 actions"},
		"disk":               {func(x *sample) { x.disk += 40 }, "the state folder grew from 36.0 to 94.6 MB with 1155 actions"},
		"rows of no actions": {func(x *sample) { x.acts = 2000 }, "rows grew"},
		"unfinished":         {func(x *sample) { x.unfinished = 1 }, "1 rows are unfinished"},
	} {
		end := last
		c.change(&end)
		err := flat([]sample{{}, {idle: true, acts: 1999}, {goroutines: 200}, first, {}, end})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if flat([]sample{{}, {idle: true}, {}, last}) == nil || flat(nil) == nil {
		t.Error("too few samples are enough")
	}
}
