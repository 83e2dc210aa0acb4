package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"matrix-tui/bot"
	"matrix-tui/state/sentence"
)

// processesEvery is how often a container that is shown live is looked at.
const processesEvery = 2 * time.Second

// processes is the page of what runs in a room's container.
type processes struct {
	Room     string
	List     []bot.Process
	More     bool
	Why      string // nothing is listed
	Previews bool   // there are some
	Port     int    // on which a program listens; 0 for none
}

// gatewayPort is the one on which a container's programs reach the outside: nobody wants to see that.
const gatewayPort = 3128

// look lists the processes. That the container is not running is no error.
func (s workspace) look(ctx context.Context, v visit) (p processes, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	p = processes{Room: v.PathValue("room"), Previews: s.previews.domain != ""}
	if !s.looks.begin(v.who.User) {
		p.Why = "Too much is going on here at the same time. Try again in a minute."
		return p, nil
	}
	p.List, p.More, err = s.box.Processes(ctx, v.who, p.Room)
	s.looks.end(v.who.User)
	if said, known := sentence.Of(err); known {
		p.Why, err = said, nil
	}
	for i, one := range p.List {
		p.List[i].Ports = slices.DeleteFunc(one.Ports, func(port int) bool { return port == gatewayPort })
		if p.Port == 0 && len(p.List[i].Ports) > 0 {
			p.Port = p.List[i].Ports[0]
		}
	}
	slices.SortStableFunc(p.List, func(a, b bot.Process) int { return len(b.Ports) - len(a.Ports) }) // servers first
	return p, err
}

// processes shows what runs in a room's container.
func (s workspace) processes(w http.ResponseWriter, v visit) {
	p, err := s.look(v.Context(), v)
	if !s.answered(w, err) {
		s.show(w, http.StatusOK, "processes", page{Title: "Processes", User: v.who.User, Data: p})
	}
}

// watch sends what runs, again and again.
func (s workspace) watch(w http.ResponseWriter, v visit) {
	s.follow(w, v, "running", processesEvery, func(ctx context.Context, v visit) (any, bool, error) {
		p, err := s.look(ctx, v)
		return p, false, err
	})
}
