package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// decodeExecutions reads the value of the key, room by room. A value that is not an object was not written by us, and
// is kept under a room without a name.
func (c *contents) decodeExecutions(dec *json.Decoder) error {
	c.executions, c.roomOf = map[string]executions{}, map[string]string{}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case nil:
	case json.Delim('{'):
		if err := decodeMembers(dec, c.executions); err != nil {
			return err
		}
	case json.Delim('['):
		var odd executions
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				return err
			}
			odd.list = append(odd.list, execution{raw: raw})
		}
		if _, err := dec.Token(); err != nil {
			return err
		}
		c.executions[""] = odd
	default:
		c.executions[""] = executions{[]execution{{raw: encodeJSON(tok)}}, true}
	}
	for _, room := range slices.Sorted(maps.Keys(c.executions)) {
		c.adopt(room)
	}
	return nil
}

// adopt indexes the executions of a room by ID. One that another room already has is left out, as is a room without a
// name.
func (c *contents) adopt(room string) {
	es := c.executions[room]
	if room == "" {
		for i, e := range es.list {
			es.list[i] = execution{raw: e.raw}
		}
	}
	es.list = slices.DeleteFunc(es.list, func(e execution) bool {
		_, known := c.roomOf[e.id]
		return known
	})
	c.setExecutions(room, es)
}

// UnmarshalJSON reads one room's part of the file. It never fails: an entry that is not an execution is kept as it is.
// Of two with the same ID the last one counts.
func (es *executions) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if json.Unmarshal(data, &raws) != nil {
		*es = executions{[]execution{{raw: bytes.Clone(data)}}, true}
		return nil
	}
	*es = executions{}
	for _, raw := range raws {
		e, err := newExecution(raw)
		if err != nil {
			e = execution{raw: raw}
		} else if i := indexOf(es.list, e.id); i >= 0 {
			es.list = slices.Delete(es.list, i, i+1)
		}
		es.list = append(es.list, e)
	}
	return nil
}

func (es executions) writeTo(buf *bufio.Writer) {
	if es.bare {
		buf.Write(es.list[0].raw)
		return
	}
	raws := make([]json.RawMessage, len(es.list))
	for i, e := range es.list {
		raws[i] = e.raw
	}
	writeList(buf, raws)
}
