package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A query is a text of a person: nothing in it is syntax.
func TestHostileQueries(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceNote, "MEMORY.md", "- the otter is near and not far, or is it?\n")
	for _, query := range []string{
		"", " ", "?", `"`, `""`, `'`, "*", "otter*", "otter AND", "NOT otter", "NEAR(otter, 2)", "stems:otter", "otter OR", "^otter", "-otter", "{stems}: otter", "(otter", "otter)",
		`" OR 1=1 --`, "\x00otter", "\xff\xfe", "otter\x00", strings.Repeat("otter ", 100_000), strings.Repeat("(", 10_000), strings.Repeat("a b c d ", 5000), "🦦", "日本", "and or not", "%", "_", "otter'; DROP TABLE entry; --",
	} {
		hits, err := x.Search(t.Context(), Query{Text: query})
		if err != nil {
			t.Errorf("query %.40q: %v", query, err)
		}
		if strings.Contains(query, "otter") && !strings.HasPrefix(query, "\x00") && len(hits) != 1 {
			t.Errorf("query %.40q: %d results", query, len(hits))
		}
	}
}

func TestSearchFindsWhatIsMeant(t *testing.T) {
	x := openIn(t, t.TempDir())
	for i, text := range []string{
		"Ann prefers tabs over spaces.", "Der Server wurde am Montag neu gestartet, die Datenbanksicherung lief durch.", "数据库每天晚上备份到对象存储。",
		"サーバーを再起動しました。", "Мы перенесли базу данных на новый сервер.", "The café on Kastanienstraße opens at nine.", "On 2026-03-14 the disk of web2 was full.",
		"parseConfigFile fails on empty input.", "What is the plan? When do we go? Who does it?", "Kubernetes upgrade is planned.", "The US office closes.",
	} {
		put(t, x, SourceLog, fmt.Sprintf("memory/%02d.md", i), text)
	}
	for query, want := range map[string]string{
		"what does Ann prefer?": "tabs", "datenbanksicherungen": "Datenbank", "Datenbank": "Datenbank", "备份": "备份", "数据库": "数据库", "再起動": "再起動",
		"базы данных": "базу", "cafe kastanienstrasse": "café", "14 March 2026": "web2", "March 14, 2026": "web2", "config file parser": "parseConfigFile",
		"kuberntes": "Kubernetes", "k8s upgrades": "Kubernetes", "the office in the US": "US office", "who restarted the Server": "Server",
	} {
		wantFirst(t, x, query, want)
	}
}

func TestCrowdsAndDuplicates(t *testing.T) {
	x := openIn(t, t.TempDir())
	var lines []string
	for i := range 60 { // one long conversation about otters, and two short ones
		lines = append(lines, fmt.Sprintf(`{"name":"ann","content":"otter number %d %s","time":"2026-01-02T10:%02d:00Z"}`, i, writerOf(uint64(i))(30), i))
	}
	lines = append(lines, `{"name":"bob","content":"an otter in May","time":"2026-05-02T10:00:00Z"}`, `{"name":"bob","content":"an otter in June","time":"2026-06-02T10:00:00Z"}`)
	imported(t, x, "a", strings.Join(lines, "\n"))
	hits, err := x.Search(t.Context(), Query{Text: "otter", Max: 3})
	must(t, err)
	months := map[time.Month]bool{}
	for i, h := range hits {
		months[h.Time.Month()] = true
		if i > 0 && h.Score > hits[i-1].Score {
			t.Errorf("score %v comes after %v", h.Score, hits[i-1].Score)
		}
	}
	if len(months) != 3 {
		t.Errorf("one conversation crowds out the others: %v", hits)
	}
	hits, err = x.Search(t.Context(), Query{Text: "otter", Max: 8})
	if must(t, err); len(hits) != 8 {
		t.Errorf("%d results, want the rest of the conversation too", len(hits))
	}
	for i := range 4 {
		put(t, x, SourceLog, fmt.Sprintf("memory/%d.md", i), "The walrus sleeps in the harbour.")
	}
	if all := find(t, x, "walrus"); len(all) != 1 {
		t.Errorf("%d results say the same", len(all))
	}
}

func TestWeightRecencyAndFilters(t *testing.T) {
	x := openIn(t, t.TempDir())
	err := x.Put(t.Context(), Document{Source: SourceTranscript, Path: "t", Entries: []Entry{
		{From: 1, To: 1, Time: day(1, 1), Text: "deploy to production"}, {From: 2, To: 2, Time: day(6, 1), Text: "deploy to staging"},
	}})
	must(t, err)
	hits, err := x.Search(t.Context(), Query{Text: "where to deploy", Now: day(6, 2)})
	if must(t, err); len(hits) != 2 || hits[0].Text != "deploy to staging" {
		t.Errorf("what is new does not come first: %v", hits)
	}
	put(t, x, SourceNote, "MEMORY.md", "deploy to canary")
	wantFirst(t, x, "where to deploy", "canary")
	hits, err = x.Search(t.Context(), Query{Text: "where to deploy", Sources: []Source{SourceTranscript}, Now: day(6, 2), Max: 1})
	if must(t, err); len(hits) != 1 || hits[0].Source != SourceTranscript {
		t.Errorf("got %v", hits)
	}
	hits, err = x.Search(t.Context(), Query{Text: "where to deploy in January", Now: day(6, 2), Max: 1})
	if must(t, err); hits[0].Text != "deploy to production" {
		t.Errorf("January: %v", hits)
	}
	hits, err = x.Search(t.Context(), Query{Text: "deploy", Min: 99})
	if must(t, err); len(hits) > 0 {
		t.Errorf("below the least score: %v", hits)
	}
}
