package api

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// standing is the part of an execution that starting and answering it gives.
type standing struct {
	ID    string `json:"session_id"`
	State string `json:"state"`
}

// execute starts an execution. The same Idempotency-Key gives the same one
// again, however often it is sent.
func (h *handler) execute(w http.ResponseWriter, r *http.Request, _ string) {
	var s submission
	err := readBody(w, r, map[string]any{"room": &s.Room, "transcript": &s.Transcript, "commands": &s.Commands})
	if err == nil {
		s.Key, err = idempotencyKey(r.Header)
	}
	switch {
	case err != nil:
	case s.Room == "":
		err = malformed(`The field "room" is missing: it is the ID of a room that the bot is in`)
	case s.Transcript == "" && len(s.Commands) == 0:
		err = malformed(`The field "transcript" is missing: it says what is to be done`)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	raw, err := h.service.execute(r.Context(), s)
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

// context tells an execution as it is stored.
func (h *handler) context(w http.ResponseWriter, r *http.Request, id string) {
	raw, err := h.service.execution(id)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, raw)
}

// resume answers the question of an execution.
func (h *handler) resume(w http.ResponseWriter, r *http.Request, id string) {
	var answer string
	err := readBody(w, r, map[string]any{"answer": &answer})
	if err == nil && answer == "" {
		err = malformed(`The field "answer" is missing: it is what the question is answered with`)
	}
	if err == nil {
		_, err = h.service.resume(r.Context(), id, answer)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, standing{id, "resuming"})
}
