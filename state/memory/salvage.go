package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"unicode/utf8"

	"matrix-tui/state/pages"
)

// remains is what can be read of a damaged index and must not be lost.
type remains struct {
	docs      []Document
	forgotten map[string]int64
}

// storedEntry is an entry as a row.
type storedEntry struct {
	Entry
	id, document int64
}

// salvage reads a damaged index page by page.
func salvage(path string) (remains, int, error) {
	out := remains{forgotten: map[string]int64{}}
	file, err := pages.Open(path)
	if err != nil {
		return out, 0, err
	}
	defer file.Close()
	heads := map[int64]Document{}
	entries := map[int64]storedEntry{}
	lost := file.Rows(func(row pages.Row) {
		if doc, ok := documentOf(row); ok {
			heads[row.ID] = doc
		} else if e, ok := entryOf(row); ok {
			entries[e.id] = e
		} else if hash, at, ok := forgottenOf(row); ok {
			out.forgotten[hash] = at
		}
	})
	all := map[int64][]storedEntry{}
	for _, e := range entries {
		all[e.document] = append(all[e.document], e)
	}
	for id, doc := range heads {
		if doc.Origin == "" || len(all[id]) == 0 {
			continue
		}
		slices.SortFunc(all[id], func(a, b storedEntry) int { return cmp.Compare(a.id, b.id) })
		for _, e := range all[id] {
			doc.Entries = append(doc.Entries, e.Entry)
		}
		alone(&doc)
		out.docs = append(out.docs, doc)
	}
	return out, lost, nil
}

// write stores everything in a new index.
func (r remains) write(ctx context.Context, path, room string) error {
	x := &Index{path: path, room: room}
	if err := x.open(ctx); err != nil {
		return err
	}
	err := x.inTx(ctx, func(tx *sql.Tx) error {
		w := newWriter(ctx, tx)
		for hash, at := range r.forgotten {
			if _, err := w.exec("INSERT INTO forgotten (hash, time) VALUES (?, ?) ON CONFLICT DO NOTHING", []byte(hash), at); err != nil {
				return err
			}
		}
		for i := range r.docs {
			if _, err := w.put(&r.docs[i]); err != nil {
				return err
			}
		}
		return w.finish()
	})
	if closed := x.db.Close(); err == nil {
		err = closed
	}
	return err
}

func documentOf(row pages.Row) (doc Document, ok bool) {
	v := row.Values
	if row.Index || len(v) != 7 || v[0] != nil {
		return doc, false
	}
	source, ok1 := v[1].(string)
	path, ok2 := v[2].(string)
	origin, ok3 := v[3].(string)
	_, ok4 := v[4].([]byte)
	doc = Document{Source: Source(source), Path: path, Weight: 1, Origin: origin}
	switch weight := v[5].(type) {
	case float64:
		doc.Weight = weight
	case int64: // how SQLite stores whole numbers
		doc.Weight = float64(weight)
	}
	return doc, ok1 && ok2 && ok3 && ok4 && slices.Contains(Sources, doc.Source)
}

func entryOf(row pages.Row) (e storedEntry, ok bool) {
	v := row.Values
	if row.Index || len(v) != 9 && len(v) != 8 || v[0] != nil {
		return e, false
	}
	e.id = row.ID
	var first, last, at int64
	for i, to := range map[int]*int64{2: &e.document, 3: &first, 4: &last, 5: &at} {
		n, ok := v[i].(int64)
		if !ok {
			return e, false
		}
		*to = n
	}
	ok1, ok2, ok3 := false, false, true
	e.Speaker, ok1 = v[6].(string)
	e.Text, ok2 = v[7].(string)
	if len(v) > 8 { // version 1 had no events
		e.Event, ok3 = v[8].(string)
	}
	e.From, e.To, e.Time = int(first), int(last), timeOf(at)
	return e, ok1 && ok2 && ok3 && utf8.ValidString(e.Text)
}

func forgottenOf(row pages.Row) (hash string, at int64, ok bool) {
	if !row.Index || len(row.Values) != 2 {
		return "", 0, false
	}
	blob, ok1 := row.Values[0].([]byte)
	at, ok2 := row.Values[1].(int64)
	return string(blob), at, ok1 && ok2 && len(blob) == 16
}
