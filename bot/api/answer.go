package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"matrix-tui/bot"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// send writes a response as JSON on one line.
func send(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // cannot happen: our own types encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // if the client is gone, nobody reads it
}

func sendError(w http.ResponseWriter, status int, text string) {
	send(w, status, struct {
		Error string `json:"error"`
	}{text})
}

// fail writes an error response: a sentence for errors that the client can act on, for
// all others an error ID that is also in the log.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad *badRequest
	var step *execution.TransitionError
	switch {
	case errors.As(err, &bad):
		sendError(w, bad.status, bad.sentence)
	case errors.Is(err, bot.ErrNoExecution):
		sendError(w, http.StatusNotFound, "Session not found")
	case errors.Is(err, bot.ErrNoRoom):
		sendError(w, http.StatusNotFound, "Room not found: the bot is not in a room with this ID")
	case errors.As(err, &step):
		sendError(w, http.StatusConflict, fmt.Sprintf("Session is %s, not waiting for input", step.From))
	case errors.Is(err, execution.ErrLimit):
		sendError(w, http.StatusUnprocessableEntity, sentence.Text(err))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		sendError(w, http.StatusServiceUnavailable,
			"The request took too long, or the bot is shutting down: retry with the same Idempotency-Key")
	default:
		said, id := sentence.Tell(err)
		h.log.Error().Err(err).Str("error_id", id).Msg("HTTP request failed")
		status := http.StatusServiceUnavailable
		if id != "" {
			status = http.StatusInternalServerError
		}
		sendError(w, status, said)
	}
}
