package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"math"
	"math/bits"
)

// A sketch is a bit for each dimension of a vector: whether it is positive. The number of bits in which two sketches
// differ grows with the angle between their vectors, and takes a hundredth of the time to find.
type sketch [sketchBytes / 8]uint64

const (
	sketchBytes = Dimensions / 8
	sketchRow   = hashBytes + sketchBytes
)

func sketchOf(value []byte) (s sketch) {
	for i, v := range value {
		if int8(v) > 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

func (s sketch) append(to []byte) []byte {
	for _, word := range s {
		to = binary.LittleEndian.AppendUint64(to, word)
	}
	return to
}

// distance is the number of bits in which a stored sketch differs.
func (s sketch) distance(stored []byte) (n int) {
	for i, word := range s {
		n += bits.OnesCount64(word ^ binary.LittleEndian.Uint64(stored[8*i:]))
	}
	return n
}

// sketch writes the sketches of all vectors of the room.
func (w *writer) sketch() error {
	signs := []byte{}
	err := each(w.ctx, w.tx, func(rows *sql.Rows) error {
		var hash, value sql.RawBytes
		err := rows.Scan(&hash, &value)
		signs = sketchOf(value).append(append(signs, hash...))
		return err
	}, "SELECT hash, value FROM vector WHERE room = ? AND value <> x''", w.room)
	if err == nil {
		_, err = w.exec("INSERT OR REPLACE INTO sketch (room, signs) VALUES (?, ?)", w.room, signs)
	}
	return err
}

// Texts that have nothing to do with each other are at some distance that depends on the model and the room: what is
// not nearer counts as 0. It is the average in the room; with few vectors, what models usually have.
const (
	usualSimilarity = 0.5
	usualCount      = 20
)

// sketched returns the hashes of the vectors with the nearest sketches, about most of them, and what is no similarity.
func (x searcher) sketched(ctx context.Context, wanted sketch, most int) (hashes [][]byte, floor float64, err error) {
	err = each(ctx, x.db, func(rows *sql.Rows) error {
		var signs sql.RawBytes
		err := rows.Scan(&signs)
		hashes, floor = wanted.nearest(signs, most)
		return err
	}, "SELECT signs FROM sketch WHERE room = ?", x.room)
	return hashes, floor, err
}

// nearest returns at most twice as many as wanted: many may be equally far away.
func (s sketch) nearest(signs []byte, most int) (hashes [][]byte, floor float64) {
	distances := make([]int, len(signs)/sketchRow)
	var counts [Dimensions + 1]int
	for i := range distances {
		distances[i] = s.distance(signs[i*sketchRow+hashBytes:])
		counts[distances[i]]++
	}
	limit := 0
	for within := counts[0]; within < most && limit < Dimensions; within += counts[limit] {
		limit++
	}
	for i, distance := range distances {
		if distance <= limit && len(hashes) < 2*most {
			hashes = append(hashes, append([]byte(nil), signs[i*sketchRow:i*sketchRow+hashBytes]...))
		}
	}
	sum := usualSimilarity * usualCount
	for distance, n := range counts {
		sum += float64(n) * math.Cos(math.Pi*float64(distance)/Dimensions)
	}
	return hashes, min(max(sum/float64(usualCount+len(distances)), 0), 0.95)
}
