// Package embed fetches embeddings from the Gemini API: where texts are in the space of a model, so that texts that
// mean the same are near each other.
//
// It keeps nothing, never tries again, and its errors contain no text. The texts go to Google, as what the agent reads
// does.
package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"matrix-tui/agent/gemini"
	"matrix-tui/state/memory"
)

// Gemini fetches embeddings with one model.
type Gemini struct {
	client *gemini.Client
	model  string
}

// New returns a client of the Gemini API at an address.
func New(address, key, model string) (*Gemini, error) {
	base, err := url.Parse(address)
	if err != nil || address == "" || key == "" {
		return nil, errors.New("create the client for embeddings: the Gemini API's address is missing or wrong, or its " +
			"key is missing")
	}
	return &Gemini{&gemini.Client{Base: base, Key: key}, model}, nil
}

// Fetch returns the embeddings of at most 100 texts, each of memory.Dimensions. Query says whether the text is searched
// for or kept. The error is a memory.ErrCut if the API has got the request and did not answer with an error, and a
// memory.ErrRefused if it does not take the texts.
func (g *Gemini) Fetch(ctx context.Context, query bool, texts []string) ([][]float32, error) {
	task := "RETRIEVAL_DOCUMENT"
	if query {
		task = "RETRIEVAL_QUERY"
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	vectors, err := g.client.Embed(traced, g.model, task, memory.Dimensions, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("there are %d of %d texts", len(vectors), len(texts))
	}
	for _, one := range vectors {
		if err == nil && len(one) != memory.Dimensions {
			err = fmt.Errorf("one has not %d dimensions", memory.Dimensions)
		}
	}
	var refusal *gemini.Refusal
	switch {
	case err == nil:
		return vectors, nil
	case errors.As(err, &refusal) && refusal.Status >= http.StatusMultipleChoices: // its message may repeat a text
		err = fmt.Errorf("the Gemini API answers with status %d", refusal.Status)
		if refusal.Status == http.StatusBadRequest {
			err = fmt.Errorf("%w: %w", memory.ErrRefused, err)
		}
	default:
		said, _, _ := strings.Cut(err.Error(), `"`) // what it quotes may be an echo of a text
		if err = errors.New(said); ctx.Err() != nil {
			err = ctx.Err()
		}
		if sent.Load() {
			err = fmt.Errorf("%w: %w", memory.ErrCut, err)
		}
	}
	return nil, fmt.Errorf("fetch embeddings: %w", err)
}
