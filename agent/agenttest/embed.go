package agenttest

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
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

// Vector returns the embedding of a text: the sum of a direction for each word, with the length 1. Texts that share
// words, or words that mean the same, are close to each other. Dims is the number of dimensions.
func (e *Embeddings) Vector(text string, dims int) []float64 {
	if dims < 1 || dims > maxDimensions {
		dims = dimensions
	}
	v := make([]float64, dims)
	words := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
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

type values struct {
	Values []float64 `json:"values"`
}

// embed answers embedContent and batchEmbedContents.
func (s *Server) embed(r *http.Request, w http.ResponseWriter, req Request, body []byte) {
	s.mu.Lock()
	how := s.script.Embeddings
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	if how != nil && !pause(ctx, how.Delay) {
		panic(http.ErrAbortHandler)
	}
	requests, refused := embedRequests(req.Method, body)
	if refused == nil {
		var texts []string
		for _, one := range requests {
			texts = append(texts, plain(one.Content))
		}
		refused = how.refuses(texts)
		req.Text = strings.Join(texts, "\n")
	}
	req.Text = req.Method + "\n" + req.Text // a script can tell it from what the model was sent
	if refused != nil {
		req.Status = refused.code
		s.note(req)
		refused.write(w, single)
		return
	}
	req.Status = http.StatusOK
	s.note(req)
	out := make([]values, len(requests))
	for i, one := range requests {
		out[i] = values{how.Vector(plain(one.Content), int(one.GetOutputDimensionality()))}
	}
	if req.Method == "embedContent" {
		sendJSON(w, map[string]any{"embedding": out[0]})
		return
	}
	sendJSON(w, map[string]any{"embeddings": out})
}

// plain joins the texts of a content with newlines.
func plain(c *pb.Content) string {
	var out []string
	for _, p := range c.GetParts() {
		if p.GetText() != "" {
			out = append(out, p.GetText())
		}
	}
	return strings.Join(out, "\n")
}

// refuses returns the script's error, or that for a text that it refuses. Like Google's, that one names the text.
func (e *Embeddings) refuses(texts []string) *refusal {
	if e == nil {
		return nil
	}
	if e.Status != 0 {
		return &refusal{code: e.Status, message: "scripted error " + strconv.Itoa(e.Status)}
	}
	for _, text := range texts {
		if e.Refuse != "" && strings.Contains(text, e.Refuse) {
			return invalid("cannot embed %s", text)
		}
	}
	return nil
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}
