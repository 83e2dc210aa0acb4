package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"matrix-tui/bot"
)

// standing is the part of an execution that execute and resume return.
type standing struct {
	ID    string `json:"session_id"`
	State string `json:"state"`
}

// execute starts an execution. The same Idempotency-Key always returns the same one.
func (h *handler) execute(w http.ResponseWriter, r *http.Request, _ string) {
	var s bot.Submission
	err := readBody(w, r, map[string]any{"room": &s.Room, "transcript": &s.Transcript, "commands": &s.Commands})
	if err == nil {
		s.Key, err = idempotencyKey(r.Header)
	}
	switch {
	case err != nil:
	case s.Room == "":
		err = malformed(`The field "room" is missing: it is the ID of a room that the bot is in`)
	case strings.TrimSpace(s.Transcript+strings.Join(s.Commands, "")) == "":
		err = malformed(`The field "transcript" is missing or blank: it says what to do`)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !h.ready(w, r) {
		return
	}
	raw, err := h.bot.Execute(r.Context(), s)
	var now standing
	if err == nil {
		err = json.Unmarshal(raw, &now)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Location", "/context/"+url.PathEscape(now.ID))
	send(w, http.StatusAccepted, now)
}

// context returns an execution.
func (h *handler) context(w http.ResponseWriter, r *http.Request, id string) {
	raw, err := h.bot.Execution(r.Context(), id)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, raw)
}

// resume answers the question of an execution. A request with the Idempotency-Key of an earlier one changes nothing.
func (h *handler) resume(w http.ResponseWriter, r *http.Request, id string) {
	var reply bot.Reply
	var number string
	err := readBody(w, r, map[string]any{"answer": &reply.Answer, "question": &number})
	if err == nil {
		reply.Key, err = idempotencyKey(r.Header)
	}
	if err == nil && number != "" {
		if reply.Question, err = strconv.Atoi(number); err != nil || reply.Question < 1 {
			err = malformed(`The field "question" must be the question's number, such as "2": see "question_number" in GET /context`)
		}
	}
	if err == nil && reply.Answer == "" {
		err = malformed(`The field "answer" is missing: it is the answer to the question`)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !h.ready(w, r) {
		return
	}
	if _, err := h.bot.Resume(r.Context(), id, reply); err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, standing{id, "resuming"})
}

// ready reports whether the bot is up, and sends an error if it is not: executions need
// the rooms.
func (h *handler) ready(w http.ResponseWriter, r *http.Request) bool {
	if !h.bot.Health(r.Context()).Synced.IsZero() {
		return true
	}
	w.Header().Set("Retry-After", "5")
	sendError(w, http.StatusServiceUnavailable, starting)
	return false
}
