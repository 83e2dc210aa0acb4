package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// What is kept of the executions of a room that are finished; the newest one
// stays, however long it is. Those that are not finished never go.
const (
	MaxFinished      = 20        // executions
	MaxFinishedBytes = 256 << 10 // bytes, all together
)

// execution is one as it lies in state.json, or what else a file had in its
// place, which has no ID then. It is never changed in place.
type execution struct {
	id       string
	finished bool
	raw      json.RawMessage
}

// executions are those of one room, oldest first. It is never changed in place.
type executions struct {
	list []execution
	bare bool // the file had one value here that was no list: list[0]
}

// PutExecution adds an execution to the room, or replaces the one with its
// session_id. It is kept byte for byte (less white space around it), and comes
// last when it is new, and once more when it is finished: then the oldest
// finished ones go, see MaxFinished. Two keys of raw are read, which both must
// be there: session_id, and state, in which "completed" and "failed" are
// finished. An ID that another room has comes to this one.
func (s *Store) PutExecution(ctx context.Context, room string, raw json.RawMessage) error {
	if room == "" {
		return errors.New("put execution: no room")
	}
	e, err := newExecution(bytes.Clone(bytes.TrimSpace(raw)))
	if err != nil {
		return fmt.Errorf("put execution: %w", err)
	}
	return s.update(ctx, func(c *contents) bool { return c.putExecution(room, e) })
}

// Execution gives an execution as it was put, and its room.
func (s *Store) Execution(id string) (room string, raw json.RawMessage, ok bool) {
	s.mu.Lock()
	room, ok = s.now.roomOf[id]
	list := s.now.executions[room].list
	s.mu.Unlock()
	if !ok {
		return "", nil, false
	}
	return room, bytes.Clone(list[indexOf(list, id)].raw), true
}

// Executions gives those of a room as they were put, oldest first.
func (s *Store) Executions(room string) []json.RawMessage {
	s.mu.Lock()
	list := s.now.executions[room].list
	s.mu.Unlock()
	var out []json.RawMessage
	for _, e := range list {
		if e.id != "" {
			out = append(out, bytes.Clone(e.raw))
		}
	}
	return out
}

// Unfinished gives the executions of all rooms that are not finished, room by
// room.
func (s *Store) Unfinished() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []json.RawMessage
	for _, room := range slices.Sorted(maps.Keys(s.now.executions)) {
		for _, e := range s.now.executions[room].list {
			if e.id != "" && !e.finished {
				out = append(out, bytes.Clone(e.raw))
			}
		}
	}
	return out
}

// newExecution reads the two keys of an execution.
func newExecution(raw json.RawMessage) (execution, error) {
	var keys struct {
		ID    string `json:"session_id"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return execution{}, err
	}
	if keys.ID == "" || keys.State == "" {
		return execution{}, errors.New("no session_id or no state")
	}
	finished := keys.State == "completed" || keys.State == "failed"
	return execution{keys.ID, finished, raw}, nil
}

// with gives the executions with one put, and whether that made a difference.
func (es executions) with(e execution) (executions, bool) {
	i := indexOf(es.list, e.id)
	if i >= 0 && bytes.Equal(es.list[i].raw, e.raw) {
		return es, false
	}
	list := slices.Clone(es.list)
	switch {
	case i < 0:
		list = append(list, e)
	case e.finished && !list[i].finished:
		list = append(slices.Delete(list, i, i+1), e)
	default:
		list[i] = e
	}
	return executions{list: window(list)}, true
}

func (es executions) without(id string) executions {
	same := func(e execution) bool { return e.id == id }
	return executions{list: slices.DeleteFunc(slices.Clone(es.list), same)}
}

// window leaves out the finished executions that are too many or too much.
func window(list []execution) []execution {
	count, size := 0, 0
	out := make([]execution, 0, len(list))
	for _, e := range slices.Backward(list) {
		if e.finished {
			count, size = count+1, size+len(e.raw)
			if count > 1 && (count > MaxFinished || size > MaxFinishedBytes) {
				continue
			}
		}
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}

func indexOf(list []execution, id string) int {
	return slices.IndexFunc(list, func(e execution) bool { return e.id == id })
}

// putExecution reports whether it made a difference.
func (c *contents) putExecution(room string, e execution) bool {
	if before, known := c.roomOf[e.id]; known && before != room {
		c.setExecutions(before, c.executions[before].without(e.id))
	}
	es, changed := c.executions[room].with(e)
	if changed {
		c.setExecutions(room, es)
	}
	return changed
}

// setExecutions replaces those of a room, and holds roomOf to it.
func (c *contents) setExecutions(room string, es executions) {
	for _, e := range c.executions[room].list {
		if c.roomOf[e.id] == room {
			delete(c.roomOf, e.id)
		}
	}
	for _, e := range es.list {
		if e.id != "" {
			c.roomOf[e.id] = room
		}
	}
	if c.executions[room] = es; len(es.list) == 0 {
		delete(c.executions, room)
	}
}

// moveExecutions puts those of a room before its successor's own, and reports
// whether there were any.
func (c *contents) moveExecutions(from, to string) bool {
	old, had := c.executions[from]
	if !had {
		return false
	}
	c.setExecutions(from, executions{})
	c.setExecutions(to, executions{list: window(slices.Concat(old.list, c.executions[to].list))})
	return true
}
