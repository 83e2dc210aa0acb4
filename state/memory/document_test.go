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
		{shape(SourceMemory, Entry{}, Entry{Alone: true}, Entry{}), []int{1, 2}},
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

func TestMarkdown(t *testing.T) {
	doc := Markdown(SourceLog, "memory/2026-03-14.md", "# Log\n\nIntro\nof two lines.\n\n## Servers\n- one\n  more of one\n- 2026-01-05: two\n\n```\n# code\n- code\n```\n### 2026-04-01 Deep\n1. three\n")
	date := func(m time.Month, d int) time.Time { return time.Date(2026, m, d, 0, 0, 0, 0, time.UTC) }
	want := []Entry{
		{From: 3, To: 4, Time: date(3, 14), Speaker: "Log", Text: "Intro\nof two lines.", Alone: true},
		{From: 7, To: 8, Time: date(3, 14), Speaker: "Servers", Text: "- one\n  more of one", Alone: true},
		{From: 9, To: 9, Time: date(1, 5), Speaker: "Servers", Text: "- 2026-01-05: two"},
		{From: 11, To: 14, Time: date(3, 14), Speaker: "Servers", Text: "```\n# code\n- code\n```"},
		{From: 16, To: 16, Time: date(4, 1), Speaker: "Servers > 2026-04-01 Deep", Text: "1. three", Alone: true},
	}
	if diff := cmp.Diff(want, doc.Entries); diff != "" {
		t.Error(diff)
	}
}
