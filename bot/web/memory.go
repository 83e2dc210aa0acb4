package web

import (
	"context"
	"net/http"
	"time"
)

// forgetTime is how long the bot may take to forget something: it looks through everything, also in the container.
const forgetTime = 25 * time.Second

// memoryView is the page of a room's memory.
type memoryView struct {
	Room, Query string
	Found       string // Markdown
}

// memory shows what a room remembers, or what it finds.
func (s *site) memory(w http.ResponseWriter, v visit) {
	s.showMemory(w, v, v.URL.Query().Get("q"), "")
}

func (s *site) showMemory(w http.ResponseWriter, v visit, query, said string) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	room := v.PathValue("room")
	found, err := s.bot.Memory(ctx, v.who, room, query)
	if s.answered(w, err) {
		return
	}
	s.show(w, http.StatusOK, "memory", page{Title: "Memory", User: v.who.User, Said: said,
		Data: memoryView{Room: room, Query: query, Found: found}})
}

// remember adds a note, or forgets what has a text.
func (s *site) remember(w http.ResponseWriter, v visit) {
	// it goes on if the visitor does not wait
	ctx, cancel := context.WithTimeout(s.life, forgetTime)
	defer cancel()
	do, text := s.bot.Remember, entered(v, "text")
	if v.PostFormValue("do") == "forget" {
		do = s.bot.Forget
	}
	if text == "" {
		s.fail(w, http.StatusBadRequest, incomplete)
		return
	}
	said, err := do(ctx, v.who, v.PathValue("room"), text)
	if s.answered(w, err) {
		return
	}
	s.showMemory(w, v, "", said)
}
