package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"matrix-tui/state/clean"
)

const (
	maxQuery = 8 << 10 // bytes of a query that are read
	maxTerms = 24      // that a search uses: the rarest
	maxLook  = 64      // that are looked up
	counted  = 1000    // chunks with a stem that are counted, not estimated
)

// Query is a search.
type Query struct {
	Text    string    // of a person or an agent: there is no syntax in it
	Max     int       // results, 1 to MaxHits; 0 is 5
	Sources []Source  // only these; none: all
	Kind    string    // only documents of this kind or source; "" for all
	Person  string    // only what is about this person or the whole room; "" for all
	Min     float64   // only results with at least this score
	Vector  Vector    // of Text; the zero value: only words count
	Now     time.Time // what "yesterday" counts from; zero is now
}

// Nobody is the Person of a query that finds only what is about the whole room.
const Nobody = "\x00"

// filtered reports whether only some documents count.
func (q Query) filtered() bool { return len(q.Sources) > 0 || q.Kind != "" || q.Person != "" }

// where is the condition for what a query may find, in the room.
func (x searcher) where(q Query) (where string, args []any) {
	where, args = " AND document.room = ?", []any{x.room}
	if len(q.Sources) > 0 {
		where += " AND source IN (" + marks(len(q.Sources)) + ")"
		args = append(args, anys(q.Sources)...)
	}
	if q.Kind != "" {
		where += " AND (source = ? OR kind = ?)"
		args = append(args, q.Kind, q.Kind)
	}
	if q.Person != "" {
		where += " AND person IN ('', ?)"
		args = append(args, q.Person)
	}
	return where, args
}

// MaxHits bounds the results of a search.
const MaxHits = 100

// term is a word of a query: the stems in the index that stand for it.
type term struct {
	stems  []string
	docs   int     // chunks that have one of them
	weight float64 // 1, or less if the word itself is not in the index
}

// parse returns the distinct stems of a query without stop words, or with them if there is nothing else.
func parse(text string) (stems []string) {
	text = clean.Clip(strings.ToValidUTF8(text, " "), maxQuery)
	s := newStemmer()
	var dates dateReader
	add := func(stem string) {
		if len(stems) < maxLook && !slices.Contains(stems, stem) {
			stems = append(stems, stem)
		}
	}
	words(text, func(word string) {
		if day, ok := dates.day(word); ok {
			add(day)
		}
		if !stopWords[word] || nameStops[word] && capital(text, word) {
			add(s.stem(word))
		}
	})
	if len(stems) == 0 {
		words(text, func(word string) { add(s.stem(word)) })
	}
	return stems
}

// capital reports whether a word occurs in capitals inside a text, as a name or an abbreviation does.
func capital(text, word string) bool {
	return strings.Contains(text, " "+strings.ToUpper(word[:1])+word[1:]) || strings.Contains(text, strings.ToUpper(word))
}

// terms looks up the stems of a query, and returns the rarest that are in the index, and how many are not.
func (x searcher) terms(ctx context.Context, stems []string) (found []term, unknown int, err error) {
	for _, stem := range stems {
		docs, err := x.docs(ctx, stem)
		if err != nil {
			return nil, 0, err
		}
		t := term{stems: []string{stem}, docs: docs, weight: 1}
		if docs == 0 {
			if t, err = x.similar(ctx, stem); err != nil {
				return nil, 0, err
			}
		}
		if t.docs == 0 {
			unknown++
			continue
		}
		found = append(found, t)
	}
	slices.SortStableFunc(found, func(a, b term) int { return cmp.Compare(a.docs, b.docs) })
	return found[:min(len(found), maxTerms)], unknown, nil
}

// docs returns in how many chunks a stem occurs. For a common stem it is an estimate: how long it takes to count them
// all would depend on the size of the room.
func (x searcher) docs(ctx context.Context, stem string) (int, error) {
	var n, reached, first, last int
	err := x.db.QueryRowContext(ctx, `SELECT count(*), ifnull(max(rowid), 0)
		FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)`, `"`+stemIn(x.room, stem)+`"`, counted).Scan(&n, &reached)
	if err != nil || n < counted {
		return n, err
	}
	err = x.db.QueryRowContext(ctx, `SELECT ifnull((SELECT min(id) FROM chunk WHERE room = ?1), 0),
		ifnull((SELECT max(id) FROM chunk WHERE room = ?1), 0)`, x.room).Scan(&first, &last)
	return int(float64(n) * float64(last-first+1) / float64(max(reached-first+1, 1))), err
}

// similar finds the stems of the index that are probably the same word in another form, or the same word without a
// typing error: they have the same beginning.
func (x searcher) similar(ctx context.Context, stem string) (term, error) {
	const most, least, looked = 6, 4, 3000
	t := term{weight: 0.6}
	runes := []rune(stem)
	if runes[0] < utf8.RuneSelf && len(runes) <= least || isDigit(stem) || len(runes) > maxWord {
		return t, nil
	}
	head := stemIn(x.room, string(runes[:min(len(runes), 3)]))
	type candidate struct {
		stem  string
		docs  int
		order int
	}
	var all []candidate
	err := each(ctx, x.db, func(rows *sql.Rows) error {
		var c candidate
		if err := rows.Scan(&c.stem, &c.docs); err != nil {
			return err
		}
		c.stem = strings.TrimPrefix(c.stem, stemIn(x.room, ""))
		if c.order = distance(runes, []rune(c.stem)); c.order >= 0 {
			all = append(all, c)
		}
		return nil
	}, "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?", head, head+"\U0010FFFF", looked)
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.order, b.order) })
	for _, c := range all[:min(len(all), most)] {
		t.stems, t.docs = append(t.stems, c.stem), t.docs+c.docs
	}
	return t, err
}

// distance says how far a word of the index is from a wanted one with the same beginning: the characters that one of
// them has after the beginning that they share. -1 is too far.
func distance(wanted, word []rune) int {
	common := 0
	for common < len(wanted) && common < len(word) && wanted[common] == word[common] {
		common++
	}
	left, right := len(wanted)-common, len(word)-common
	if unspaced(wanted[0]) {
		if left == 0 {
			return right
		}
		return -1
	}
	switch {
	case common >= 5 && left <= 3 && right <= 3 && (left == 0 || right == 0 || left+right <= 4): // another ending
		return left + right
	case left == 0 && common >= 5: // the beginning of a compound word
		return 4 + right
	case len(wanted) >= 6 && oneEdit(wanted[common:], word[common:]):
		return 2
	}
	return -1
}

// oneEdit reports whether two words differ by one missing, wrong or additional character, or two that are swapped. They
// differ in the first one.
func oneEdit(a, b []rune) bool {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) == 1
	case slices.Equal(a[1:], b[1:]), slices.Equal(a[1:], b), slices.Equal(a, b[1:]):
		return true
	}
	return len(a) == len(b) && len(a) > 1 && a[0] == b[1] && a[1] == b[0] && slices.Equal(a[2:], b[2:])
}
