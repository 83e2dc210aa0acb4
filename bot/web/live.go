package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"matrix-tui/bot"
	"matrix-tui/state/execution"
)

const (
	liveEvery = 250 * time.Millisecond // how often a task that is shown live is looked at
	liveTime  = 30 * time.Minute       // after which a browser connects again
	pingEvery = 20 * time.Second       // a sign of life, so that no proxy ends the stream
)

// live sends the part of a task's page that changes, until the task has ended.
func (s *site) live(w http.ResponseWriter, v visit) {
	s.follow(w, v, "live", liveEvery, func(ctx context.Context, v visit) (any, bool, error) {
		view, err := s.bot.Task(ctx, v.who, v.PathValue("id"))
		return view, err == nil && settled(view), err
	})
}

// follow sends a part of a page whenever it has changed, as server-sent events, until look says that it has ended.
func (s *site) follow(w http.ResponseWriter, v visit, name string, every time.Duration,
	look func(context.Context, visit) (data any, over bool, err error)) {
	if !s.streams.begin(v.who.User) { // the page's script tries again
		s.fail(w, http.StatusServiceUnavailable, "Too many pages are shown live. Reload this one to see its newest state.")
		return
	}
	defer s.streams.end(v.who.User)
	ctx, cancel := context.WithTimeout(v.Context(), liveTime)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	data, over, err := look(ctx, v)
	if s.answered(w, err) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	stream := stream{w: w, control: http.NewResponseController(w)}
	if s.answered(w, stream.control.SetReadDeadline(time.Time{})) { // it would end the stream, too
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for err == nil {
		if err = stream.send(name, data, over); err != nil || over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if v.who, err = s.visitor(ctx, v.Request); err == nil { // who may have signed out since
			data, over, err = look(ctx, v)
		}
	}
}

func ended(view bot.TaskView) bool {
	return view.State == execution.Done || view.State == execution.Failed
}

// settled reports whether a task has ended and nothing of it comes any more.
func settled(view bot.TaskView) bool { return ended(view) && !view.Sending }

// stream is the events of one part of a page.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    string
	at      time.Time
}

// send sends what the page shows now, if that has changed.
func (s *stream) send(name string, data any, over bool) error {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	event := ": still here\n\n"
	switch {
	case out.String() != s.last:
		s.last = out.String()
		line, err := json.Marshal(s.last)
		if err != nil {
			return err
		}
		event = fmt.Sprintf("data: %s\n\n", line)
	case !over && time.Since(s.at) < pingEvery:
		return nil
	}
	if over {
		event += "event: end\ndata: {}\n\n"
	}
	s.at = time.Now()
	if err := s.control.SetWriteDeadline(s.at.Add(pingEvery)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(event)); err != nil {
		return err
	}
	return s.control.Flush()
}
