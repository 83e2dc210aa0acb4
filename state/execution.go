package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/state/disk"
)

// Limits for the finished executions of a room. The newest one is kept as it is, and the next ones up to
// MaxFinishedBytes; older ones are shortened. Unfinished ones are never removed.
const (
	MaxFinished      = 20                             // executions
	MaxFinishedBytes = 256 << 10                      // bytes in total, without those that are shortened
	shortExecution   = MaxFinishedBytes / MaxFinished // bytes of a shortened one
)

// execution is never changed in place.
type execution struct {
	id       string
	finished bool
	raw      json.RawMessage
}

// executions are those of one room, oldest first. They are never changed in place.
type executions []execution

// asExecutions reads those of one room. It leaves out what is no execution. Of two with the same ID the last one
// counts.
func asExecutions(raws []json.RawMessage) (all executions) {
	for _, raw := range raws {
		if e, err := newExecution(raw); err == nil {
			all = append(all.without(e.id), e)
		}
	}
	return all
}

// Put adds an execution to the room, or replaces the one with its session_id. It is kept byte for byte (except
// for white space around it) unless it is shortened: see MaxFinished. It comes last when it is new, and again when it
// is finished: then the oldest finished ones are removed, see MaxFinished. Two keys of raw are read and must exist:
// session_id, and state, in which "completed" and "failed" mean finished. If another room has the ID, the execution
// moves to this one.
func (s Executions) Put(ctx context.Context, room string, raw json.RawMessage) error {
	if room == "" {
		return errors.New("put execution: no room")
	}
	e, err := newExecution(bytes.Clone(bytes.TrimSpace(raw)))
	if err != nil {
		return fmt.Errorf("put execution: %w", err)
	}
	return s.update(ctx, func(c *contents) bool { return c.putExecution(room, e) }, room)
}

// Get returns an execution as it was put, and its room.
func (s Executions) Get(id string) (room string, raw json.RawMessage, ok bool) {
	s.mu.Lock()
	room, ok = s.now.roomOf[id]
	list := s.now.executions[room]
	s.mu.Unlock()
	if !ok {
		return "", nil, false
	}
	return room, bytes.Clone(list[indexOf(list, id)].raw), true
}

// In returns those of a room as they were put, oldest first.
func (s Executions) In(room string) []json.RawMessage {
	s.mu.Lock()
	list := s.now.executions[room]
	s.mu.Unlock()
	var out []json.RawMessage
	for _, e := range list {
		out = append(out, bytes.Clone(e.raw))
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

// with returns the executions with one put, and whether that changed anything.
func (es executions) with(e execution) (executions, bool) {
	i := indexOf(es, e.id)
	if i >= 0 && bytes.Equal(es[i].raw, e.raw) {
		return es, false
	}
	list := slices.Clone(es)
	switch {
	case i < 0:
		list = append(list, e)
	case e.finished && !list[i].finished:
		list = append(slices.Delete(list, i, i+1), e)
	default:
		list[i] = e
	}
	return window(list), true
}

func (es executions) without(id string) executions {
	same := func(e execution) bool { return e.id == id }
	return slices.DeleteFunc(slices.Clone(es), same)
}

// window removes finished executions above the limits, and shortens some.
func window(list executions) executions {
	count, size := 0, 0
	out := make(executions, 0, len(list))
	for _, e := range slices.Backward(list) {
		if e.finished {
			if count++; count > MaxFinished {
				continue
			}
			if size += len(e.raw); count > 1 && size > MaxFinishedBytes {
				size -= len(e.raw)
				e.raw = disk.Shorten(e.raw, shortExecution)
				if len(e.raw) > shortExecution { // not written by us
					continue
				}
			}
		}
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}

func indexOf(list executions, id string) int {
	return slices.IndexFunc(list, func(e execution) bool { return e.id == id })
}

// putExecution reports whether it changed anything.
func (c *contents) putExecution(room string, e execution) bool {
	if before, known := c.roomOf[e.id]; known && before != room {
		c.setExecutions(before, c.executions[before].without(e.id))
		c.changed[before] = true
	}
	es, changed := c.executions[room].with(e)
	if changed {
		c.setExecutions(room, es)
	}
	return changed
}

// setExecutions replaces those of a room, and updates roomOf.
func (c *contents) setExecutions(room string, es executions) {
	for _, e := range c.executions[room] {
		if c.roomOf[e.id] == room {
			delete(c.roomOf, e.id)
		}
	}
	for _, e := range es {
		c.roomOf[e.id] = room
	}
	if c.executions[room] = es; len(es) == 0 {
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
	c.setExecutions(from, nil)
	c.setExecutions(to, window(slices.Concat(old, c.executions[to])))
	return true
}
