package memory

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

// Source says where a document comes from.
type Source string

// Sources.
const (
	SourceLog        Source = "log"        // a line of a daily log
	SourceTranscript Source = "transcript" // what was said
	SourceExecution  Source = "execution"  // tasks and their outcomes
	SourceAnswer     Source = "answer"     // questions of the agent, with their answers
	SourceNote       Source = "note"       // what people have stated
	SourceImport     Source = "import"     // a conversation from elsewhere
)

// Sources lists all sources, the most salient first.
var Sources = []Source{SourceNote, SourceAnswer, SourceLog, SourceImport, SourceTranscript, SourceExecution}

// salience is what a score is multiplied with; a document's weight comes on top.
var salience = map[Source]float64{
	SourceNote: 1.2, SourceAnswer: 1.15, SourceLog: 1.05, SourceImport: 1, SourceTranscript: 1, SourceExecution: 0.95,
}

// conversation reports whether the source's documents consist of messages.
func (s Source) conversation() bool { return s == SourceTranscript || s == SourceImport }

// Document is a text with a name. Path identifies it within a room.
type Document struct {
	Source  Source
	Path    string  // shown with results
	Kind    string  // such as episodic, semantic, procedural, reflective, or ""
	Person  string  // whom it is about, or "" for the whole room
	Weight  float64 // its salience: what its scores are multiplied with; 0 counts as 1
	Entries []Entry // in their order
	Origin  string  // identifies what it was made of, or ""
	Same    bool    // for Rebuild: it stays as it is; there are no Entries
}

// Entry is a message or a line.
type Entry struct {
	From, To int       // lines in the document, from 1
	Time     time.Time // zero if unknown
	Speaker  string    // or the heading above the text, or ""
	Text     string
	Event    string // the message that it was, or ""
	Alone    bool   // begins a new unit
}

const (
	maxSpeaker = 80
	maxPath    = 400
	hashBytes  = 16
	idBytes    = 5    // of a hash
	chunkToken = 400  // tokens of a chunk
	chunkEntry = 100  // entries of a chunk
	unitToken  = 3000 // of a part of a conversation
	pause      = 2 * time.Hour
	nightPause = 30 * time.Minute
)

// tidy makes a document as it is stored, and returns its hash.
func (d *Document) tidy() []byte {
	d.Path = clean.Line(d.Path, maxPath)
	if d.Weight <= 0 {
		d.Weight = 1
	}
	d.Entries = tidy(d.Entries)
	all := sha256.New()
	fmt.Fprintf(all, "%q %q %q %q %v %q", d.Source, d.Path, d.Kind, d.Person, d.Weight, d.Origin)
	for _, e := range d.Entries {
		fmt.Fprintf(all, "%d %d %d %q %q %q %v", e.From, e.To, nanos(e.Time), e.Speaker, e.Text, e.Event, e.Alone)
	}
	return all.Sum(nil)[:hashBytes]
}

// tidy returns the entries with valid text, long ones split, and none that is empty.
func tidy(entries []Entry) []Entry {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		e.Text = strings.TrimSpace(clean.Text(e.Text))
		e.Speaker, e.Event = clean.Line(e.Speaker, maxSpeaker), clean.Clip(e.Event, maxPath)
		for _, part := range split(e.Text) {
			if e.Text = part; part != "" {
				out = append(out, e)
				e.Alone = false
			}
		}
	}
	return out
}

// split cuts a long text into parts of at most a chunk, between lines, sentences or words if possible.
func split(text string) (parts []string) {
	for tokens(text) > chunkToken {
		end, used := 0, 0.0
		for i, r := range text {
			if used += tokenCost(r); used > chunkToken {
				break
			}
			end = i + utf8.RuneLen(r)
		}
		cut := end
		for _, at := range []string{"\n", ". ", " "} {
			if i := strings.LastIndex(text[:end], at); i > end/2 {
				cut = i + len(at)
				break
			}
		}
		parts = append(parts, strings.TrimSpace(text[:cut]))
		text = text[cut:]
	}
	return append(parts, strings.TrimSpace(text))
}

// tokens estimates how many tokens a model needs for a text.
func tokens(text string) float64 {
	n := 0.0
	for _, r := range text {
		n += tokenCost(r)
	}
	return n
}

func tokenCost(r rune) float64 {
	switch {
	case r < utf8.RuneSelf:
		return 0.25
	case unspaced(r):
		return 1
	}
	return 0.5
}

// unit is a part of a document that belongs together, in chunks.
type unit struct {
	session int64 // when the conversation began; 0 if it is unknown, or there is none
	chunks  [][]Entry
}

// units groups entries, which are tidy. A pause between two messages begins a new unit; elsewhere, a unit is a chunk.
func units(doc *Document, entries []Entry) []unit {
	var out []unit
	var current []Entry
	var session time.Time
	size, most := 0.0, float64(chunkToken)
	if doc.Source.conversation() {
		most = unitToken
	}
	flush := func() {
		if len(current) > 0 {
			u := unit{chunks: chunks(current)}
			if doc.Source.conversation() {
				u.session = nanos(session)
			}
			out = append(out, u)
		}
		current, size = nil, 0
	}
	for i, e := range entries {
		cost := tokens(e.Text) + tokens(e.Speaker)
		begins := i == 0 || e.Alone || paused(entries[i-1].Time, e.Time)
		if begins || size+cost > most {
			flush()
		}
		if begins {
			session = e.Time
		}
		current, size = append(current, e), size+cost
	}
	flush()
	return out
}

// paused reports whether two messages are so far apart that the second begins another conversation.
func paused(before, after time.Time) bool {
	if before.IsZero() || after.IsZero() {
		return before.IsZero() != after.IsZero()
	}
	gap := after.Sub(before).Abs()
	return gap >= pause || gap >= nightPause && before.YearDay() != after.YearDay()
}

// chunks groups the entries of a unit evenly into chunks of at most about 400 tokens.
func chunks(entries []Entry) [][]Entry {
	var out [][]Entry
	start, used := 0, 0.0
	for i, e := range entries {
		cost := tokens(e.Text) + tokens(e.Speaker)
		if i > start && (used+cost > chunkToken || i-start == chunkEntry) {
			out = append(out, entries[start:i])
			start, used = i, 0
		}
		used += cost
	}
	return append(out, entries[start:])
}

// hashOf identifies a text.
func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:hashBytes]
}

// nanos returns a time as it is stored: nanoseconds since 1970, 0 if it is unknown.
func nanos(t time.Time) int64 {
	if t.IsZero() || t.Year() < 1700 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}
