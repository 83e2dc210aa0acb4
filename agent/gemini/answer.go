package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer streams the API's answer to the container as it arrives. Alive is set again with each piece.
func (r *room) answer(w http.ResponseWriter, resp *http.Response, alive *time.Timer, cost *Bill) {
	key := scrubber{key: []byte(r.cfg.Key)}
	for _, k := range AnswerHeaders {
		if v := resp.Header.Get(k); v != "" {
			w.Header().Set(k, key.text(v))
		}
	}
	switch {
	case resp.ContentLength >= 0:
		w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		w.Header().Set("Transfer-Encoding", "identity") // ends with the connection, see Route
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	flush.Flush()
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			alive.Reset(r.cfg.idle)
		}
		cost.Take(buf[:n])
		out := key.next(buf[:n])
		if err != nil {
			out = append(out, key.rest()...)
		}
		if len(out) > 0 {
			if _, werr := w.Write(out); werr != nil {
				break
			}
			flush.Flush()
		}
		if err == io.EOF {
			break
		}
		if err != nil { // the other side was cut, so this one must be too
			r.count(cost, resp.StatusCode)
			panic(http.ErrAbortHandler)
		}
	}
	r.count(cost, resp.StatusCode)
}

// count records an answer. One that was cut before its first numbers is estimated: it is billed all the same.
func (r *room) count(cost *Bill, code int) {
	if !cost.Asks {
		return
	}
	spent := cost.Tokens()
	used := Usage{1, spent.Input, spent.Cached, spent.Output}
	if used.InputTokens > 0 {
		r.last.Store(used.InputTokens)
	}
	if reason := cost.Finish(); reason != "" {
		r.finish.Store(reason)
	}
	if used.InputTokens+used.OutputTokens == 0 && code < http.StatusMultipleChoices {
		used.InputTokens = cost.Estimate()
	}
	r.counting.Go(func() { r.spend(r.id, used) }) // the container need not wait for it
}

// askFailed answers if the API did not. The container learns no details.
func (r *room) askFailed(w http.ResponseWriter, asked *http.Request, err error) {
	var large *http.MaxBytesError
	var closure *Closure
	switch {
	case errors.As(err, &closure):
		refuseTo(w, http.StatusForbidden, closure.Error()) // the agent does not repeat what is forbidden
	case errors.As(err, &large):
		limit := strconv.FormatInt(large.Limit, 10)
		refuseTo(w, http.StatusRequestEntityTooLarge, "the request is larger than "+limit+" bytes")
	case errors.Is(err, errLate):
		refuseTo(w, http.StatusRequestTimeout, errLate.Error())
	case asked.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the container went away, or the gateway is closing
	case errors.Is(err, context.Canceled):
		refuseTo(w, http.StatusGatewayTimeout, "the model's server did not respond in time")
	default:
		r.log.Warn().Err(err).Msg("cannot reach the model's server")
		refuseTo(w, http.StatusServiceUnavailable, "cannot reach the model's server")
	}
}

// refuseTo answers with an error.
func refuseTo(w http.ResponseWriter, code int, message string) {
	sendError(w, code, "gateway: "+message)
}
