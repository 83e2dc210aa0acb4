package memory

import (
	"encoding/hex"
	"math"
	"strings"
)

// alike is the share of common words from which on two results say the same.
const alike = 0.9

// choose returns the results of ranked units: the best chunk of each conversation or section, and then, if there are
// too few, other chunks. Of near-duplicates, the better one is returned, and of two that are not messages the newer
// one.
func choose(ranked []scored, q Query) []Hit {
	var hits []Hit
	var seen []map[string]bool
	add := func(s scored, chunk int, score float64) {
		if len(hits) >= q.Max || score <= 0 || score < q.Min {
			return
		}
		hit := s.hit(chunk, score)
		bag := bagOf(hit.Text)
		for i, other := range seen {
			if overlap(bag, other) < alike {
				continue
			}
			if old := hits[i]; !hit.Source.conversation() && hit.Source == old.Source && hit.Time.After(old.Time) {
				hit.Score = old.Score // the same words with another answer: the newest counts
				hits[i], seen[i] = hit, bag
			}
			return
		}
		hits, seen = append(hits, hit), append(seen, bag)
	}
	last := math.MaxFloat64
	addLater := func(s scored, chunk int, score float64) {
		last = min(last, score)
		add(s, chunk, last)
	}
	talks := map[talk]bool{}
	var rest []scored
	for _, s := range ranked {
		if s.talk.began != 0 && talks[s.talk] {
			rest = append(rest, s)
			continue
		}
		talks[s.talk] = true
		addLater(s, s.best, s.score)
	}
	for _, s := range rest {
		addLater(s, s.best, s.score)
	}
	for _, s := range ranked {
		for i, part := range s.shares {
			if i != s.best && part > 0.3 {
				addLater(s, i, s.score*part)
			}
		}
	}
	return hits
}

func (s scored) hit(chunk int, score float64) Hit {
	c := s.chunks[chunk]
	first, last := c.entries[0], c.entries[len(c.entries)-1]
	return Hit{
		ID: hex.EncodeToString(c.hash[:idBytes]), Score: math.Round(score*1e4) / 1e4, Source: s.source, Path: s.path,
		From: first.From, To: last.To, Time: first.Time, Text: textOf(c.entries),
	}
}

// textOf is how entries are shown.
func textOf(entries []Entry) string {
	var out strings.Builder
	for i, e := range entries {
		if i > 0 {
			out.WriteByte('\n')
		}
		if e.Speaker != "" {
			out.WriteString(e.Speaker + ": ")
		}
		out.WriteString(e.Text)
	}
	return out.String()
}

func bagOf(text string) map[string]bool {
	bag := map[string]bool{}
	words(text, func(word string) { bag[word] = true })
	return bag
}

// overlap is the share of words that two texts have in common.
func overlap(a, b map[string]bool) float64 {
	common := 0
	for word := range a {
		if b[word] {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}
