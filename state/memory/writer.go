package memory

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"time"

	"matrix-tui/state/clean"
)

// put stores one document.
func (w *writer) put(doc *Document) (changed bool, err error) {
	doc.Path = clean.Line(doc.Path, maxPath)
	if doc.Weight <= 0 {
		doc.Weight = 1
	}
	var id int64
	var before []byte
	var weight float64
	err = w.tx.QueryRowContext(w.ctx, "SELECT id, hash, weight FROM document WHERE source = ? AND path = ?", doc.Source, doc.Path).Scan(&id, &before, &weight)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	forgotten, err := w.forgotten()
	if err != nil {
		return false, err
	}
	parts := units(doc, tidy(doc.Entries, forgotten))
	if len(parts) == 0 {
		if id == 0 {
			return false, nil
		}
		return true, w.drop(id)
	}
	hash := documentHash(parts)
	if id != 0 && slices.Equal(hash, before) && weight == doc.Weight {
		return false, nil
	}
	now := time.Now().UnixNano()
	if id == 0 {
		id, err = w.insert("INSERT INTO document (source, path, origin, hash, weight, time) VALUES (?, ?, ?, ?, ?, ?)", doc.Source, doc.Path, doc.Origin, hash, doc.Weight, now)
	} else {
		_, err = w.exec("UPDATE document SET hash = ?, weight = ?, time = ? WHERE id = ?", hash, doc.Weight, now, id)
	}
	if err != nil {
		return false, err
	}
	return true, w.putUnits(doc, id, parts)
}

func documentHash(parts []unit) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part.hash)
	}
	return h.Sum(nil)[:16]
}

// putUnits replaces the units of a document that differ.
func (w *writer) putUnits(doc *Document, id int64, parts []unit) error {
	old := map[string]int64{}
	rows, err := w.tx.QueryContext(w.ctx, "SELECT id, hash FROM unit WHERE document = ?", id)
	if err != nil {
		return err
	}
	var doubles []int64
	for rows.Next() {
		var unit int64
		var hash []byte
		if err = rows.Scan(&unit, &hash); err != nil {
			break
		}
		if _, twice := old[string(hash)]; twice {
			doubles = append(doubles, unit)
			continue
		}
		old[string(hash)] = unit
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, part := range parts {
		if _, same := old[string(part.hash)]; same {
			delete(old, string(part.hash))
			continue
		}
		if err := w.addUnit(doc, id, part); err != nil {
			return err
		}
	}
	for _, unit := range old {
		doubles = append(doubles, unit)
	}
	for _, unit := range doubles {
		if err := w.dropUnit(unit); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addUnit(doc *Document, id int64, part unit) error {
	last := part.chunks[len(part.chunks)-1]
	unit, err := w.insert("INSERT INTO unit (document, hash, time, until, session) VALUES (?, ?, ?, ?, ?)",
		id, part.hash, nanos(part.chunks[0][0].Time), nanos(last[len(last)-1].Time), part.session)
	if err != nil {
		return err
	}
	for _, entries := range part.chunks {
		if err := w.addChunk(doc, id, unit, entries); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addChunk(doc *Document, id, unit int64, entries []Entry) error {
	chunk, err := w.insert("INSERT INTO chunk (unit, key) VALUES (?, ?)", unit, chunkID(doc, entries))
	if err != nil {
		return err
	}
	w.text.Reset()
	for _, e := range entries {
		if _, err := w.insert("INSERT INTO entry (chunk, document, first, last, time, speaker, text, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			chunk, id, e.From, e.To, nanos(e.Time), e.Speaker, e.Text, clean.Clip(e.Event, maxPath)); err != nil {
			return err
		}
		w.index(e.Speaker)
		w.index(e.Text)
	}
	if _, err = w.insert("INSERT INTO words (rowid, stems) VALUES (?, ?)", chunk, w.text.String()); err != nil {
		return err
	}
	_, err = w.attach(chunk, textOf(entries))
	return err
}

// index adds the stems of a text to those of the chunk.
func (w *writer) index(text string) {
	var seen dateReader
	words(text, func(word string) {
		if day, ok := seen.day(word); ok {
			w.text.WriteString(day + " ")
		}
		if unindexed[word] {
			return
		}
		w.text.WriteString(w.stems.stem(word))
		w.text.WriteByte(' ')
	})
}

// drop removes a document.
func (w *writer) drop(document int64) error {
	ids, err := numbers(w.ctx, w.tx, "SELECT id FROM unit WHERE document = ?", document)
	for _, unit := range ids {
		err = errors.Join(err, w.dropUnit(unit))
	}
	if err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM document WHERE id = ?", document)
	return err
}

func (w *writer) dropUnit(unit int64) error {
	for _, statement := range []string{
		"DELETE FROM words WHERE rowid IN (SELECT id FROM chunk WHERE unit = ?)",
		"DELETE FROM entry WHERE chunk IN (SELECT id FROM chunk WHERE unit = ?)",
		"DELETE FROM chunk WHERE unit = ?",
		"DELETE FROM unit WHERE id = ?",
	} {
		if _, err := w.exec(statement, unit); err != nil {
			return err
		}
	}
	return nil
}

// forgotten returns a function that reports whether an entry must not be stored.
func (w *writer) forgotten() (func(hash []byte) bool, error) {
	var any bool
	if err := w.tx.QueryRowContext(w.ctx, "SELECT EXISTS (SELECT 1 FROM forgotten)").Scan(&any); err != nil || !any {
		return func([]byte) bool { return false }, err
	}
	rows, err := w.tx.QueryContext(w.ctx, "SELECT hash FROM forgotten")
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for rows.Next() {
		var hash []byte
		if err = rows.Scan(&hash); err != nil {
			break
		}
		all[string(hash)] = true
	}
	return func(hash []byte) bool { return all[string(hash)] }, errors.Join(err, rows.Err(), rows.Close())
}
