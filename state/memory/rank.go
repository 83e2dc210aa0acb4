package memory

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The parameters of BM25, and what a unit's parts count. They were chosen on a public set
// of long dialogues, whose halves agree within 0.01. The result changes little around them.
const (
	saturation  = 1.2 // k1
	lengthPart  = 0.6 // b
	wholeWeight = 1.0 // of the whole unit
	pairWeight  = 0.7 // of the best two entries in a row
	fewWeight   = 0.4 // of the best five
	dateWeight  = 0.6 // of a unit that fits a date in the query, relative to the best score
	newWeight   = 0.1 // of what is said now, relative to what is old
	newDays     = 30.0
)

// ranker scores units for one query.
type ranker struct {
	of   map[string]int // term of a stem
	idf  []float64
	best float64 // what a perfect unit would get
	when []span
	now  time.Time
	near bool // vectors count
	stem *stemmer
}

func newRanker(terms []term, unknown, chunks int, when []span, now time.Time) *ranker {
	r := &ranker{of: map[string]int{}, when: when, now: now, stem: newStemmer()}
	inverse := func(docs int) float64 {
		n := float64(max(chunks, docs))
		return math.Log(1 + (n-float64(docs)+0.5)/(float64(docs)+0.5))
	}
	for i, t := range terms {
		for _, stem := range t.stems {
			r.of[stem] = i
		}
		r.idf = append(r.idf, t.weight*inverse(t.docs))
		r.best += inverse(t.docs)
	}
	r.best = (r.best + float64(unknown)*inverse(0)/2) * (saturation + 1) * (wholeWeight + pairWeight + fewWeight)
	return r
}

// counts is how often the terms occur in a text, and how long it is.
type counts struct {
	terms []float64
	words float64
}

func (r *ranker) count(e Entry) counts {
	c := counts{terms: make([]float64, len(r.idf))}
	var dates dateReader
	each := func(word string) {
		c.words++
		if day, ok := dates.day(word); ok {
			if i, ok := r.of[day]; ok {
				c.terms[i]++
			}
		}
		if i, ok := r.of[r.stem.stem(word)]; ok {
			c.terms[i]++
		}
	}
	words(e.Speaker, each)
	words(e.Text, each)
	return c
}

// sum adds up the counts of some entries.
func sum(all []counts) counts {
	out := counts{terms: slices.Clone(all[0].terms), words: all[0].words}
	for _, c := range all[1:] {
		for i, n := range c.terms {
			out.terms[i] += n
		}
		out.words += c.words
	}
	return out
}

// bm25 scores a text whose average length is known.
func (r *ranker) bm25(c counts, average float64) float64 {
	score := 0.0
	length := saturation * (1 - lengthPart + lengthPart*c.words/max(average, 1))
	for i, n := range c.terms {
		if n > 0 {
			score += r.idf[i] * n * (saturation + 1) / (n + length)
		}
	}
	return score
}

// scored is a unit with its score and those of its chunks.
type scored struct {
	foundUnit
	score  float64
	best   int       // its best chunk
	shares []float64 // of the chunks, relative to the best, 0 to 1
}

// rank scores units, and sorts them: the best first.
func (r *ranker) rank(found []foundUnit) []scored {
	all := make([][]counts, len(found))
	entries, length := 0.0, 0.0
	for i, u := range found {
		for _, c := range u.chunks {
			for _, e := range c.entries {
				n := r.count(e)
				all[i] = append(all[i], n)
				entries, length = entries+1, length+n.words
			}
		}
	}
	perUnit, perEntry := length/max(float64(len(found)), 1), length/max(entries, 1)
	out := make([]scored, 0, len(found))
	top := 0.0
	for i, u := range found {
		s := r.score(u, all[i], perUnit, perEntry)
		if r.near {
			r.merge(&s)
		}
		top = max(top, s.score)
		out = append(out, s)
	}
	if top == 0 && len(r.when) > 0 {
		top, r.best = 1, 1
	}
	for i := range out {
		r.adjust(&out[i], top)
	}
	slices.SortStableFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.time.Compare(a.time))
	})
	return out
}

// score is the relevance of a unit's text.
func (r *ranker) score(u foundUnit, all []counts, perUnit, perEntry float64) scored {
	s := scored{foundUnit: u, shares: make([]float64, len(u.chunks))}
	best := func(size int) (score float64) {
		for from := 0; from == 0 || from+size <= len(all); from++ {
			part := all[from:min(from+size, len(all))]
			score = max(score, r.bm25(sum(part), perEntry*float64(size)))
		}
		return score
	}
	s.score = wholeWeight*r.bm25(sum(all), perUnit) + pairWeight*best(2) + fewWeight*best(5)
	from, most := 0, 0.0
	for i, c := range u.chunks {
		part := all[from : from+len(c.entries)]
		for j := range part {
			two := part[j:min(j+2, len(part))]
			s.shares[i] = max(s.shares[i], r.bm25(sum(two), perEntry*2))
		}
		s.shares[i] += 0.3 * r.bm25(sum(part), perEntry*float64(len(part)))
		if s.shares[i] > most {
			most, s.best = s.shares[i], i
		}
		from += len(c.entries)
	}
	for i := range s.shares {
		s.shares[i] /= max(most, 1e-9)
	}
	return s
}

// adjust adds what dates, salience and recency count, and makes 1 the score of a perfect match. top is the best score
// before.
func (r *ranker) adjust(s *scored, top float64) {
	fit := 0.0
	for _, when := range r.when {
		fit = max(fit, when.fit(s.time))
	}
	s.score += dateWeight * fit * top
	if age := r.now.Sub(s.time).Hours() / 24; !s.time.IsZero() && age >= 0 {
		s.score *= 1 + newWeight*math.Exp(-age/newDays)
	}
	s.score *= salience[s.source] * s.weight / max(r.best, 1e-9)
}
