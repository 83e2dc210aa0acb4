package gateway

import (
	"errors"
	"fmt"

	"matrix-tui/agent/gemini"
)

// The agent shows the reasons for refusing a request to the room, so they are sentences.
var errNoRun = errors.New("no task is running in this room")

// Begin lets a room use one model while a run is active. A room may have several runs; beginning one again only changes
// its model. A run that outlived the bot begins before the room is opened, or its requests would be refused.
func (g *Gateway) Begin(room, run, model string) {
	g.runsMu.Lock()
	if g.runs[room] == nil {
		g.runs[room] = map[string]string{}
	}
	g.runs[room][run] = gemini.Bare(model)
	g.runsMu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.usage[room]; m != nil {
		m.last.Store(0)
		m.finish.Store("")
	}
}

// End ends what Begin began. Answers in progress are not cut. It is no error if the run has not begun.
func (g *Gateway) End(room, run string) {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	delete(g.runs[room], run)
	if len(g.runs[room]) == 0 {
		delete(g.runs, room)
	}
}

// permit returns why the room may not use a model now, or nil; "" is no model in particular.
func (g *Gateway) permit(room, model string) error {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	runs := g.runs[room]
	if len(runs) == 0 {
		return errNoRun
	}
	for _, allowed := range runs {
		if model == "" || gemini.Base(model) == allowed || model == allowed {
			return nil
		}
	}
	return fmt.Errorf("the model %s is not configured for this room", model)
}
