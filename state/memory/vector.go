package memory

import (
	"crypto/sha256"
	"math"
)

// Dimensions is the length of the vectors that an index keeps.
const Dimensions = 256

// maxVectors is how many chunks of a room have vectors: the newest. One takes about 410 bytes in the index, so that all
// of them take a quarter of MaxIndex.
const maxVectors = 40_000

// Vector is the embedding of a text: where it is in the space of a model. The zero value is none.
type Vector struct {
	Model  string
	Values []float32 // Dimensions of them; their length as a vector does not count
}

// noVector is the vector of a chunk whose text the model refuses.
const noVector = 0

// vectorSchema is what embeddings need. An index that is older gets it when it is opened. Vectors can be fetched again, so
// nothing of this is ever salvaged.
const vectorSchema = `
CREATE TABLE IF NOT EXISTS vector (
	id    INTEGER PRIMARY KEY,
	hash  BLOB NOT NULL UNIQUE, -- of model and text; longer than the hash of an entry, so that a salvage can tell them apart
	value BLOB NOT NULL         -- a signed byte for each dimension
);

-- The chunks that have a vector, and those of which the model makes none (0). Chunks with the same text share one.
CREATE TABLE IF NOT EXISTS embedded (
	chunk  INTEGER PRIMARY KEY,
	vector INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS embedded_vector ON embedded (vector);
CREATE TRIGGER IF NOT EXISTS chunk_gone AFTER DELETE ON chunk BEGIN DELETE FROM embedded WHERE chunk = old.id; END;

-- The sketches of the vectors block * 120 to block * 120 + 119.
CREATE TABLE IF NOT EXISTS sketch (
	block INTEGER PRIMARY KEY,
	signs BLOB NOT NULL
);
`

// quantize returns a vector as it is stored: a signed byte for each dimension, the largest of which is 127. It returns nil
// if the vector has another length, or no direction.
func quantize(values []float32) []byte {
	if len(values) != Dimensions {
		return nil
	}
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(float64(v)))
	}
	if most == 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		return nil
	}
	out := make([]byte, Dimensions)
	for i, v := range values {
		out[i] = byte(int8(math.Round(float64(v) / most * 127)))
	}
	return out
}

// cosine says how similar two stored vectors are: 1 is the same direction.
func cosine(a, b []byte) float64 {
	if len(a) != Dimensions || len(b) != Dimensions {
		return 0
	}
	var dot, ofA, ofB int
	for i := range a {
		x, y := int(int8(a[i])), int(int8(b[i]))
		dot, ofA, ofB = dot+x*y, ofA+x*x, ofB+y*y
	}
	return float64(dot) / math.Sqrt(max(float64(ofA)*float64(ofB), 1))
}

// vectorHash identifies the vector of a text.
func vectorHash(model, text string) []byte {
	sum := sha256.Sum256([]byte(model + "\x00" + text))
	return sum[:20]
}

// Tokens estimates how many tokens a model needs for a text.
func Tokens(text string) int64 { return int64(math.Ceil(tokens(text))) }
