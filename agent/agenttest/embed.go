package agenttest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The number of dimensions of an embedding, unless the request specifies another (at most maxDimensions).
const (
	dimensions    = 256
	maxDimensions = 3072
)

// common is how much all embeddings have in common, as with real models: texts that have nothing to do with each other
// are not at right angles.
const common = 0.8

// Embeddings says how a script answers requests for embeddings.
type Embeddings struct {
	Same   []string      `yaml:"same"`   // words that mean the same, separated by white space
	Status int           `yaml:"status"` // an HTTP error instead
	Refuse string        `yaml:"refuse"` // a request with a text that contains this gets status 400
	Delay  time.Duration `yaml:"delay"`  // before the answer
}

// unmeant are words that make no text similar to another.
var unmeant = strings.Fields(`a an the of to in on at for with from by and or but if is are was be do does did have has had can may
	i you he she it we they my your our us me what which who when where why how there this that not no so as`)

// Vector returns the embedding of a text: the sum of a direction for each word, with the length 1. Texts that share words,
// or words that mean the same, are close to each other. Dims is the number of dimensions.
func (e *Embeddings) Vector(text string, dims int) []float64 {
	if dims < 1 || dims > maxDimensions {
		dims = dimensions
	}
	v := make([]float64, dims)
	words := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !slices.Contains(unmeant, w) {
			add(v, e.meaning(w), 1)
			words++
		}
	}
	add(v, "", common*math.Sqrt(max(float64(words), 1)))
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
	return v
}

// meaning is the first of the words that mean the same, without its ending.
func (e *Embeddings) meaning(word string) string {
	word = bare(word)
	if e == nil {
		return word
	}
	for _, group := range e.Same {
		same := strings.Fields(strings.ToLower(group))
		if slices.ContainsFunc(same, func(other string) bool { return bare(other) == word }) {
			return bare(same[0])
		}
	}
	return word
}

// bare removes the ending of a word.
func bare(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, end); ok && len(short) > 2 {
			return short
		}
	}
	return word
}

// add adds the direction of a word to a vector: 1 or -1 in each dimension.
func add(v []float64, word string, weight float64) {
	h := fnv.New64a()
	h.Write([]byte(word))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	for i := range v {
		v[i] += weight * float64(r.IntN(2)*2-1)
	}
}

type embedRequest struct {
	Content              content `json:"content"`
	OutputDimensionality int     `json:"outputDimensionality"`
}

type values struct {
	Values []float64 `json:"values"`
}

func (e *Embeddings) embedOne(w http.ResponseWriter, body []byte) (text string, status int) {
	var r embedRequest
	if json.Unmarshal(body, &r) != nil {
		sendError(w, http.StatusBadRequest, "not an embedContent request", 0)
		return "", http.StatusBadRequest
	}
	text = r.Content.text()
	if e.refuses(w, text) {
		return text, http.StatusBadRequest
	}
	sendJSON(w, map[string]any{"embedding": values{e.Vector(text, r.OutputDimensionality)}})
	return text, http.StatusOK
}

func (e *Embeddings) embedBatch(w http.ResponseWriter, body []byte) (text string, status int) {
	var r struct {
		Requests []embedRequest `json:"requests"`
	}
	if json.Unmarshal(body, &r) != nil || len(r.Requests) > 100 {
		sendError(w, http.StatusBadRequest, "not a batchEmbedContents request of at most 100", 0)
		return "", http.StatusBadRequest
	}
	out, texts := make([]values, len(r.Requests)), make([]string, len(r.Requests))
	for i, one := range r.Requests {
		texts[i] = one.Content.text()
		out[i] = values{e.Vector(texts[i], one.OutputDimensionality)}
	}
	if e.refuses(w, texts...) {
		return strings.Join(texts, "\n"), http.StatusBadRequest
	}
	sendJSON(w, map[string]any{"embeddings": out})
	return strings.Join(texts, "\n"), http.StatusOK
}

// refuses answers with an error if a text is one of those that the script refuses. Like Google's, it names the text.
func (e *Embeddings) refuses(w http.ResponseWriter, texts ...string) bool {
	if e == nil || e.Refuse == "" {
		return false
	}
	i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, e.Refuse) })
	if i >= 0 {
		sendError(w, http.StatusBadRequest, "cannot embed "+texts[i], 0)
	}
	return i >= 0
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}
