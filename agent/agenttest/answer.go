package agenttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reply is one answer in the API's format; a stream consists of several.
type reply struct {
	Candidates    []candidate `json:"candidates"`
	UsageMetadata usage       `json:"usageMetadata"`
	ModelVersion  string      `json:"modelVersion"`
	ResponseID    string      `json:"responseId"`
}

type candidate struct {
	Content      content `json:"content"`
	FinishReason string  `json:"finishReason,omitempty"`
	Index        int     `json:"index"`
}

type usage struct {
	PromptTokenCount        int `json:"promptTokenCount"`
	CachedContentTokenCount int `json:"cachedContentTokenCount,omitempty"`
	CandidatesTokenCount    int `json:"candidatesTokenCount"`
	TotalTokenCount         int `json:"totalTokenCount"`
}

// tokens estimates the number of tokens: one for every four bytes.
func tokens(s string) int { return (len(s) + 3) / 4 }

// text returns the rule's text.
func (r *Rule) text(groups []string) string {
	if r.SayRepeat == nil {
		return expand(r.Say, groups)
	}
	n := r.SayRepeat.Bytes
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.ReplaceAll(r.SayRepeat.Text, "{{n}}", strconv.Itoa(i)))
	}
	return strings.ToValidUTF8(b.String()[:n], "")
}

// calls returns the parts of the answer that call tools. Each call has an ID; the first has a thought signature.
func (r *Rule) calls(groups []string) []part {
	var out []part
	for i, c := range r.Call {
		args, _ := expandAny(c.Args, groups).(map[string]any)
		if args == nil {
			args = map[string]any{}
		}
		p := part{FunctionCall: &functionCall{ID: strings.ToLower(rand.Text()[:8]), Name: c.Name, Args: args}}
		if i == 0 {
			p.ThoughtSignature = sign(c.Name, args)
		}
		out = append(out, p)
	}
	return out
}

// replies splits the answer into a stream: the text in chunks pieces, then all calls at once.
func replies(text string, calls []part, chunks int, finish, model, id string, sent usage) []reply {
	var contents [][]part
	for _, piece := range pieces(text, chunks) {
		contents = append(contents, []part{{Text: piece}})
	}
	if len(calls) > 0 {
		contents = append(contents, calls)
	}
	if len(contents) == 0 {
		contents = append(contents, []part{})
	}
	out := make([]reply, len(contents))
	said := 0
	for i, parts := range contents {
		for _, p := range parts {
			said += tokens(p.Text)
			if p.FunctionCall != nil {
				said += 20
			}
		}
		out[i] = reply{
			Candidates:    []candidate{{Content: content{Role: "model", Parts: parts}}},
			UsageMetadata: usage{sent.PromptTokenCount, sent.CachedContentTokenCount, said, sent.PromptTokenCount + said},
			ModelVersion:  model,
			ResponseID:    id,
		}
	}
	if finish == "" {
		finish = "STOP"
	}
	out[len(out)-1].Candidates[0].FinishReason = finish
	return out
}

// pieces splits s into n parts of about the same size, never inside a character. For n = 0 it returns one part, for s =
// "" none.
func pieces(s string, n int) []string {
	var out []string
	for n = max(n, 1); s != ""; n-- {
		cut := (len(s) + max(n, 1) - 1) / max(n, 1)
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut++
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	return out
}

// send writes the rule's answer, with its pauses. It panics with http.ErrAbortHandler to cut the connection.
func (r *Rule) send(ctx context.Context, w http.ResponseWriter, mode streaming, out []reply, groups []string) {
	if !pause(ctx, r.Hang) || !pause(ctx, r.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case r.silent():
		panic(http.ErrAbortHandler)
	case r.Status != 0:
		sendError(w, r.Status, expand(r.Body, groups), r.RetryAfter)
		return
	case r.Garbage && mode == sse:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"candidates\": [{\"cont\x00\xff <html>this is not JSON\r\n\r\n")
		return
	case r.Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"candidates\": [{\"cont\x00\xff <html>this is not JSON")
		return
	}
	rc := http.NewResponseController(w)
	before, after, between := mode.frame(w)
	_, _ = io.WriteString(w, before)
	for i, o := range out {
		if i > 0 {
			_, _ = io.WriteString(w, between)
			if !pause(ctx, r.ChunkDelay) {
				panic(http.ErrAbortHandler)
			}
		}
		data, err := json.Marshal(o)
		if err != nil {
			panic(http.ErrAbortHandler) // cannot happen: Load has checked it
		}
		if mode == sse {
			data = fmt.Appendf(nil, "data: %s\r\n\r\n", data)
		}
		if r.Break && i == len(out)-1 {
			w.Write(data[:len(data)/2])
			rc.Flush()
			panic(http.ErrAbortHandler)
		}
		w.Write(data)
		rc.Flush()
	}
	_, _ = io.WriteString(w, after)
}

type streaming int

const (
	single streaming = iota // generateContent
	sse                     // streamGenerateContent?alt=sse
	array                   // streamGenerateContent
)

func (m streaming) frame(w http.ResponseWriter) (before, after, between string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	switch m {
	case sse:
		w.Header().Set("Content-Type", "text/event-stream")
	case array:
		return "[", "]", ",\r\n"
	}
	return "", "", ""
}

var statusNames = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// sendError writes an error of the API. If body is JSON, it is sent unchanged.
func sendError(w http.ResponseWriter, status int, body string, retryAfter time.Duration) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	if body == "" || !strings.HasPrefix(strings.TrimSpace(body), "{") {
		if body == "" {
			body = "scripted error " + strconv.Itoa(status)
		}
		e := map[string]any{"code": status, "message": body, "status": statusNames[status]}
		if retryAfter > 0 {
			e["details"] = []any{map[string]any{
				"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", retryAfter.Seconds()),
			}}
		}
		data, _ := json.Marshal(map[string]any{"error": e}) // strings and numbers only
		body = string(data)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// pause waits for d; it returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
