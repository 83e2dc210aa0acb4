package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	maxAnswer = 4 << 20 // bytes
	maxPages  = 20      // of the list of models
	maxWait   = 15 * time.Second
	minKey    = 6 // bytes of a key that is looked for in texts: a shorter one would match ordinary words
)

// Client asks the API.
type Client struct {
	Base *url.URL
	Key  string
	// HTTP must not follow redirects: they would get the key. nil is a client that does not.
	HTTP *http.Client
}

// String hides the key.
func (c *Client) String() string { return fmt.Sprintf("gemini.Client{Base: %s}", c.Base) }

// GoString hides the key from %#v.
func (c *Client) GoString() string { return c.String() }

var stays = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Model is one that the API lists. That does not mean that the key may use it.
type Model struct {
	Name    string // without "models/"
	Methods []string
}

// Generates reports whether the model answers prompts.
func (m Model) Generates() bool { return slices.Contains(m.Methods, "generateContent") }

// List lists the models.
func (c *Client) List(ctx context.Context) (models []Model, err error) {
	for page, token := 0, ""; page < maxPages; page++ {
		var answer struct {
			Models []struct {
				Name    string   `json:"name"`
				Methods []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		if err := c.ask(ctx, http.MethodGet, "/v1beta/models?pageSize=200&pageToken="+url.QueryEscape(token), nil,
			&answer); err != nil {
			return nil, fmt.Errorf("list models: %w", err)
		}
		for _, m := range answer.Models {
			models = append(models, Model{Name: Bare(m.Name), Methods: m.Methods})
		}
		if token = answer.Next; token == "" {
			break
		}
	}
	return models, nil
}

// Bare returns a model's name without the prefix that the API allows.
func Bare(name string) string { return strings.TrimPrefix(name, "models/") }

type part struct {
	Text string `json:"text"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// Try makes the model generate one token. The error is a *Refusal.
func (c *Client) Try(ctx context.Context, model string) error {
	_, err := c.Resolve(ctx, model)
	return err
}

// Resolve is Try, and returns which model has answered: the name may be an alias.
func (c *Client) Resolve(ctx context.Context, model string) (version string, err error) {
	var answer struct {
		Version string `json:"modelVersion"`
	}
	err = c.ask(ctx, http.MethodPost, method(model, "generateContent"), map[string]any{
		"contents":         []content{{Role: "user", Parts: []part{{Text: "ping"}}}},
		"generationConfig": map[string]any{"maxOutputTokens": 1},
	}, &answer)
	return Bare(answer.Version), err
}

// TryEmbed makes the model embed one word. The error is a *Refusal.
func (c *Client) TryEmbed(ctx context.Context, model string) error {
	return c.ask(ctx, http.MethodPost, method(model, "embedContent"),
		map[string]any{"content": content{Parts: []part{{Text: "ping"}}}}, nil)
}

// Embed makes the model embed texts for a task, such as RETRIEVAL_QUERY, in as many dimensions. Its time limit is that
// of ctx. The error is a *Refusal.
func (c *Client) Embed(ctx context.Context, model, task string, dimensions int, texts []string) ([][]float32, error) {
	requests := make([]map[string]any, len(texts))
	for i, text := range texts {
		requests[i] = map[string]any{"model": "models/" + Bare(model), "content": content{Parts: []part{{Text: text}}},
			"taskType": task, "outputDimensionality": dimensions}
	}
	var answer struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	err := c.send(ctx, http.MethodPost, method(model, "batchEmbedContents"), map[string]any{"requests": requests}, &answer)
	var vectors [][]float32
	for _, one := range answer.Embeddings {
		vectors = append(vectors, one.Values)
	}
	return vectors, err
}

func method(model, name string) string {
	return "/v1beta/models/" + url.PathEscape(Bare(model)) + ":" + name
}

// ask is send, with a time limit.
func (c *Client) ask(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	return c.send(ctx, method, path, body, into)
}

// send sends a request and decodes the answer into into, unless that is nil. Its errors are *Refusal.
func (c *Client) send(ctx context.Context, method, path string, body, into any) error {
	var data bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&data).Encode(body); err != nil {
			return c.unreachable(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base.String(), "/")+path, &data)
	if err != nil {
		return c.unreachable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "matrix-tui")
	req.Header.Set("X-Goog-Api-Key", c.Key)
	client := c.HTTP
	if client == nil {
		client = stays
	}
	resp, err := client.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	if resp.StatusCode >= 300 || resp.StatusCode < 200 {
		return Parse(resp.StatusCode, resp.Header, []byte(c.without(string(answer))))
	}
	if into != nil && json.Unmarshal(answer, into) != nil {
		return &Refusal{Kind: Refused, Status: resp.StatusCode, Message: "the answer is not one of the Gemini API"}
	}
	return nil
}

// unreachable is the refusal for an error of the connection.
func (c *Client) unreachable(err error) *Refusal {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the caller knows the address
	}
	said := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		said = "no answer in time"
	}
	return &Refusal{Kind: Network, Message: c.without(said)}
}

// without removes the key from other people's text.
func (c *Client) without(text string) string {
	if len(c.Key) < minKey {
		return text
	}
	return strings.ReplaceAll(text, c.Key, "***")
}
