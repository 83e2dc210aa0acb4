package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUnits(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 2, hour, minute, 0, 0, time.UTC) }
	shape := func(source Source, entries ...Entry) (out []int) {
		for i := range entries {
			entries[i].Text = "x"
		}
		for _, u := range units(&Document{Source: source}, entries) {
			n := 0
			for _, c := range u.chunks {
				n += len(c)
			}
			out = append(out, n)
		}
		return out
	}
	for _, tt := range []struct{ got, want []int }{
		{shape(SourceImport, Entry{Time: at(9, 0)}, Entry{Time: at(9, 50)}, Entry{Time: at(12, 0)}), []int{2, 1}},
		{shape(SourceImport, Entry{Time: at(23, 50)}, Entry{Time: at(24, 5)}, Entry{Time: at(24, 50)}), []int{3}},
		{shape(SourceImport, Entry{Time: at(23, 10)}, Entry{Time: at(24, 5)}), []int{1, 1}},
		{shape(SourceImport, Entry{Time: at(9, 0)}, Entry{Time: at(3, 0)}), []int{1, 1}},
		{shape(SourceImport, Entry{}, Entry{}), []int{2}},
		{shape(SourceNote, Entry{}, Entry{Alone: true}, Entry{}), []int{1, 2}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestChunksAreBounded(t *testing.T) {
	long := strings.Repeat("A sentence of some words. ", 1000)
	for _, text := range []string{long, strings.Repeat("x", 20_000), strings.Repeat("数据库", 3000), strings.Repeat("a\n", 9000)} {
		entries := tidy([]Entry{{Text: text}, {Text: "short"}})
		joined := 0
		for _, u := range units(&Document{Source: SourceImport}, entries) {
			size := 0.0
			for _, c := range u.chunks {
				n := 0.0
				for _, e := range c {
					n += tokens(e.Text)
					joined += len(e.Text)
				}
				size += n
				if n > chunkToken+1 {
					t.Errorf("a chunk of %.0f tokens", n)
				}
			}
			if size > unitToken+1 {
				t.Errorf("a unit of %.0f tokens", size)
			}
		}
		if joined < len(text)*9/10 {
			t.Errorf("%d of %d bytes are left", joined, len(text))
		}
	}
}
