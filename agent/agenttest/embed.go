package agenttest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"unicode"
)

// The number of dimensions of an embedding, unless the request specifies another (at most maxDimensions).
const (
	dimensions    = 256
	maxDimensions = 3072
)

// embedding returns a bag of words as a vector of length 1: texts that share words are close to each other, which is
// all a test needs.
func embedding(text string, dims int) []float64 {
	if dims < 1 || dims > maxDimensions {
		dims = dimensions
	}
	v := make([]float64, dims)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[int(h.Sum32())%dims]++
	}
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
	return v
}

type embedRequest struct {
	Content              content `json:"content"`
	OutputDimensionality int     `json:"outputDimensionality"`
}

type values struct {
	Values []float64 `json:"values"`
}

func embedOne(w http.ResponseWriter, body []byte) (text string, status int) {
	var r embedRequest
	if json.Unmarshal(body, &r) != nil {
		sendError(w, http.StatusBadRequest, "not an embedContent request", 0)
		return "", http.StatusBadRequest
	}
	text = r.Content.text()
	sendJSON(w, map[string]any{"embedding": values{embedding(text, r.OutputDimensionality)}})
	return text, http.StatusOK
}

func embedBatch(w http.ResponseWriter, body []byte) (text string, status int) {
	var r struct {
		Requests []embedRequest `json:"requests"`
	}
	if json.Unmarshal(body, &r) != nil || len(r.Requests) > 100 {
		sendError(w, http.StatusBadRequest, "not a batchEmbedContents request of at most 100", 0)
		return "", http.StatusBadRequest
	}
	out, texts := make([]values, len(r.Requests)), make([]string, len(r.Requests))
	for i, e := range r.Requests {
		texts[i] = e.Content.text()
		out[i] = values{embedding(texts[i], e.OutputDimensionality)}
	}
	sendJSON(w, map[string]any{"embeddings": out})
	return strings.Join(texts, "\n"), http.StatusOK
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}
