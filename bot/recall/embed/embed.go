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
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"google.golang.org/genai"

	"matrix-tui/state/memory"
)

// Gemini fetches embeddings with one model.
type Gemini struct {
	client *genai.Client
	model  string
}

// New returns a client of the Gemini API at an address. It takes nothing from the environment.
func New(ctx context.Context, address, key, model string) (*Gemini, error) {
	if address == "" || key == "" { // genai would use those of the environment, and its errors contain the key
		return nil, errors.New("create the client for embeddings: the address or the key of the Gemini API is missing")
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI,
		HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // another address would get the key
		}},
		HTTPOptions: genai.HTTPOptions{BaseURL: address + "/"},
	})
	if err != nil {
		return nil, errors.New("create the client for embeddings") // the reason may contain the key
	}
	return &Gemini{client, model}, nil
}

// Fetch returns the embeddings of at most 100 texts, each of memory.Dimensions. Query says whether the text is searched
// for or kept. The error is a memory.ErrCut if the API has got the request and did not answer with an error.
func (g *Gemini) Fetch(ctx context.Context, query bool, texts []string) ([][]float32, error) {
	size := int32(memory.Dimensions)
	config := &genai.EmbedContentConfig{TaskType: "RETRIEVAL_DOCUMENT", OutputDimensionality: &size}
	if query {
		config.TaskType = "RETRIEVAL_QUERY"
	}
	contents := make([]*genai.Content, len(texts))
	for i, text := range texts {
		contents[i] = genai.NewContentFromText(text, genai.RoleUser)
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	answer, err := g.client.Models.EmbedContent(traced, g.model, contents, config)
	var api genai.APIError
	switch {
	case err != nil && sent.Load() && !errors.As(err, &api):
		return nil, fmt.Errorf("fetch embeddings: %w: %w", memory.ErrCut, withoutText(err))
	case err != nil:
		return nil, fmt.Errorf("fetch embeddings: %w", withoutText(err))
	case len(answer.Embeddings) != len(texts):
		return nil, fmt.Errorf("fetch embeddings: %w: there are %d of %d texts", memory.ErrCut, len(answer.Embeddings),
			len(texts))
	}
	vectors := make([][]float32, len(texts))
	for i, one := range answer.Embeddings {
		if one == nil || len(one.Values) != memory.Dimensions {
			return nil, fmt.Errorf("fetch embeddings: %w: one has not %d dimensions", memory.ErrCut, memory.Dimensions)
		}
		vectors[i] = one.Values
	}
	return vectors, nil
}

// withoutText leaves of an error of the API only its code: its message may repeat what was sent. It is a
// memory.ErrRefused if the API does not take the request as it is.
func withoutText(err error) error {
	var api genai.APIError
	switch {
	case errors.As(err, &api) && api.Code == http.StatusBadRequest:
		return fmt.Errorf("the Gemini API answers with status %d: %w", api.Code, memory.ErrRefused)
	case errors.As(err, &api):
		return fmt.Errorf("the Gemini API answers with status %d", api.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	return errors.New("the answer of the Gemini API cannot be read")
}
