package person

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// HoldKeys delays the keys that this session sends to others until it is called again: what a slow or broken client
// does.
func (p *Person) HoldKeys(ctx context.Context, hold bool) error { return p.holding.set(ctx, hold) }

// holding is a transport to the homeserver that can delay keys.
type holding struct {
	to   http.RoundTripper
	mu   sync.Mutex
	hold bool
	held []*http.Request
}

// RoundTrip is [http.RoundTripper].
func (h *holding) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	keep := h.hold && strings.Contains(req.URL.Path, "/sendToDevice/m.room.encrypted/")
	if !keep {
		h.mu.Unlock()
		return h.to.RoundTrip(req)
	}
	defer h.mu.Unlock()
	again := req.Clone(context.WithoutCancel(req.Context()))
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again.Body = body
	h.held = append(h.held, again)
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")),
		ContentLength: 2,
	}, nil
}

func (h *holding) set(ctx context.Context, hold bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold = hold
	if hold {
		return nil
	}
	for _, req := range h.held {
		resp, err := h.to.RoundTrip(req.WithContext(ctx))
		if err != nil {
			return fmt.Errorf("send held keys: %w", err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("send held keys: %s", resp.Status)
		}
	}
	h.held = nil
	return nil
}
