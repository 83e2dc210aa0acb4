package memory

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A sketch is a bit for each dimension of a vector: whether it is positive. The number of bits in which two sketches
// differ grows with the angle between their vectors, and takes a hundredth of the time to find.
const (
	sketchWords = Dimensions / 64
	sketchBytes = Dimensions / 8
	perBlock    = 120 // sketches in a row of the table: they fit on a page
)

type sketch [sketchWords]uint64

func sketchOf(value []byte) (s sketch) {
	for i, v := range value {
		if int8(v) > 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

func (s sketch) bytes() []byte {
	out := make([]byte, 0, sketchBytes)
	for _, word := range s {
		out = binary.LittleEndian.AppendUint64(out, word)
	}
	return out
}

// distance is the number of bits in which a stored sketch differs; false if there is none.
func (s sketch) distance(stored []byte) (n int, ok bool) {
	any := uint64(0)
	for i, word := range s {
		other := binary.LittleEndian.Uint64(stored[8*i:])
		any |= other
		n += bits.OnesCount64(word ^ other)
	}
	return n, any != 0
}

// Texts that have nothing to do with each other are at some distance that depends on the model and the room: what is not
// nearer counts as 0. It is the average in the room; with few vectors, what models usually have.
const (
	usualSimilarity = 0.5
	usualCount      = 20
)

// closest keeps the vectors with the smallest distances.
type closest struct {
	most      int
	all       []distant
	limit     int // greater distances do not count
	within    int // how many are within the limit
	histogram [Dimensions + 1]int
}

type distant struct {
	id       int64
	distance int
}

func newClosest(most int) *closest { return &closest{most: most, limit: Dimensions} }

func (c *closest) add(id int64, distance int) {
	c.histogram[distance]++
	if distance > c.limit {
		return
	}
	c.all = append(c.all, distant{id, distance})
	for c.within++; c.within-c.histogram[c.limit] >= c.most; c.limit-- {
		c.within -= c.histogram[c.limit]
	}
}

// ids returns the vectors within the limit, at most twice as many as wanted: many may be equally far away.
func (c *closest) ids() (ids []int64) {
	for _, one := range c.all {
		if one.distance <= c.limit && len(ids) < 2*c.most {
			ids = append(ids, one.id)
		}
	}
	return ids
}

// average returns the average similarity, which is that of texts that have nothing to do with each other.
func (c *closest) average() float64 {
	sum, count := usualSimilarity*usualCount, usualCount
	for distance, n := range c.histogram {
		sum += float64(n) * math.Cos(math.Pi*float64(distance)/Dimensions)
		count += n
	}
	return min(max(sum/float64(count), 0), 0.95)
}
