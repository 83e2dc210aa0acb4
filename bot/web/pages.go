package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"matrix-tui/bot"
)

// maxRooms bounds the rooms in the list: a search finds the others.
const maxRooms = 200

// roomList is the first page.
type roomList struct {
	Rooms []bot.RoomLine
	Query string
	More  int // rooms that are not shown
}

// rooms shows the rooms.
func (s *site) rooms(w http.ResponseWriter, v visit) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	all, err := s.bot.Rooms(ctx, v.who)
	if s.answered(w, err) {
		return
	}
	owns, err := s.bot.Owns(ctx, v.who)
	if s.answered(w, err) {
		return
	}
	list := roomList{Query: v.URL.Query().Get("q")}
	for _, one := range all {
		switch {
		case !strings.Contains(strings.ToLower(one.Name+" "+one.ID), strings.ToLower(list.Query)):
		case len(list.Rooms) == maxRooms:
			list.More++
		default:
			list.Rooms = append(list.Rooms, one)
		}
	}
	s.show(w, http.StatusOK, "rooms", page{Title: "Rooms", User: v.who.User, Owner: owns, Data: list})
}

// operator shows owners the bot and its host.
func (s *site) operator(w http.ResponseWriter, v visit) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	view, err := s.bot.Host(ctx, v.who)
	if s.answered(w, err) {
		return
	}
	s.show(w, http.StatusOK, "operator", page{Title: "Operator", User: v.who.User, Owner: true, Data: view})
}

// room shows a room.
func (s *site) room(w http.ResponseWriter, v visit) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	view, err := s.bot.Room(ctx, v.who, v.PathValue("room"))
	if s.answered(w, err) {
		return
	}
	s.show(w, http.StatusOK, "room", page{Title: view.Name, User: v.who.User, Data: view})
}

// task shows a task.
func (s *site) task(w http.ResponseWriter, v visit) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	s.showTask(ctx, w, v, http.StatusOK, "", "")
}

func (s *site) showTask(ctx context.Context, w http.ResponseWriter, v visit, status int, said, typed string) {
	view, err := s.bot.Task(ctx, v.who, v.PathValue("id"))
	if s.answered(w, err) {
		return
	}
	s.show(w, status, "task", page{Title: title(view.Execution), User: v.who.User, Said: said, Typed: typed,
		Data: view})
}

// answer answers a task's question.
func (s *site) answer(w http.ResponseWriter, v visit) {
	number, err := strconv.Atoi(v.PostFormValue("question"))
	if err != nil || number < 1 {
		s.fail(w, http.StatusBadRequest, incomplete)
		return
	}
	typed := entered(v, "answer")
	s.act(w, v, typed, func(ctx context.Context) (string, error) {
		return s.bot.Answer(ctx, v.who, v.PathValue("id"), number, typed)
	})
}

// stop cancels a task.
func (s *site) stop(w http.ResponseWriter, v visit) {
	s.act(w, v, "", func(ctx context.Context) (string, error) { return s.bot.Stop(ctx, v.who, v.PathValue("id")) })
}

// entered returns a field of a form, with the ends of lines as people's clients send them.
func entered(v visit, field string) string {
	return strings.TrimSpace(strings.ReplaceAll(v.PostFormValue(field), "\r\n", "\n"))
}

// act does something with a task and shows the task, with what the visitor is told if it was not done, and has typed.
func (s *site) act(w http.ResponseWriter, v visit, typed string, do func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	said, err := do(ctx)
	switch {
	case s.answered(w, err):
	case said != "":
		s.showTask(ctx, w, v, http.StatusConflict, said, typed)
	default:
		http.Redirect(w, v.Request, "/t/"+url.PathEscape(v.PathValue("id")), http.StatusSeeOther)
	}
}
