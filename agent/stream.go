package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

const (
	// MaxText bounds Outcome.Text, in bytes.
	MaxText = 4 << 20
	// maxLine bounds one line of the stream. A longer line is cut there, and the piece is used as far as it can be
	// parsed (see mend).
	maxLine = 1 << 20
	// maxNames bounds the number of tool names and of open calls, maxErrors the number of error messages that are kept.
	maxNames, maxErrors = 256, 8
	// maxRun bounds a run's output in bytes: boxinit keeps less, as long as it is boxinit
	// that speaks. maxLines and maxEvents bound the work that it makes. A task of many
	// hours stays far below all three.
	maxRun    = int(sandbox.DefaultMaxOutput) + 1<<20
	maxLines  = 1 << 20
	maxEvents = 1 << 18
)

// stream reads the CLI's stream-json. It takes pieces of any size, tolerates any
// content, uses bounded memory and time, and passes events to emit. Its Write never fails. The
// zero value with an emit function is ready to use.
type stream struct {
	emit func(Event)

	line    []byte // the line so far, at most maxLine
	cut     bool   // the rest of the line is being dropped
	written int64  // bytes read: the offset to follow the run from
	lines   int
	events  int
	flooded bool // a bound of the run is exceeded: the rest is only counted

	session   string
	model     string
	began     bool    // init was seen
	result    *result // nil until the CLI's result
	last, all text    // since the last tool call; of the whole run
	signal    SignalReader
	mark      SignalReader // the signal when the model was asked last
	asked     string       // digest of the model's last request
	requests  int          // to the model
	waiting   bool         // the model was asked after the last tool result
	held      *Held        // the first command that needs approval
	tools     map[string]int
	calls     callLog
	errors    []string // the newest error messages
	truncated bool
}

// result is the CLI's last line.
type result struct {
	ok          bool
	kind, error string
	usage       Usage
}

// line is any line of the stream; each kind uses some of the fields.
type line struct {
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Error      json.RawMessage `json:"error"`
	Time       stamp           `json:"timestamp"`
	Message    string          `json:"message"`
	Severity   string          `json:"severity"`
	Asked      string          `json:"asked"`
	Command    string          `json:"command"`
	Dir        string          `json:"dir"`
	Said       string          `json:"said"`
	Stats      json.RawMessage `json:"stats"`
}

// Write takes the next bytes of the run's output.
func (s *stream) Write(p []byte) (int, error) {
	s.written += int64(len(p))
	if s.written > int64(maxRun) {
		s.flood()
	}
	for rest := p; len(rest) > 0 && !s.flooded; {
		piece, after, ended := bytes.Cut(rest, []byte{'\n'})
		rest = after
		if room := maxLine - len(s.line); len(piece) > room {
			piece, s.cut = piece[:room], true
		}
		s.line = append(s.line, piece...)
		if ended {
			s.endLine()
		}
	}
	return len(p), nil
}

// flood gives up reading.
func (s *stream) flood() { s.flooded, s.truncated, s.line = true, true, nil }

// end processes a last line without a newline.
func (s *stream) end() { s.endLine() }

func (s *stream) endLine() {
	if s.lines++; s.lines > maxLines {
		s.flood()
	}
	raw, cut := s.line, s.cut
	s.line, s.cut = s.line[:0], false
	if cap(s.line) > 64<<10 {
		s.line = nil // one long line must not hold its memory for the whole run
	}
	if cut {
		s.truncated = true
		raw = mend(raw)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return // other lines may occur between the events
	}
	var l line
	// A field of another type than expected is left out; the rest still counts.
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &l); err != nil && !errors.As(err, &wrongType) {
		return
	}
	s.take(l)
}

func (s *stream) take(l line) {
	switch l.Type {
	case "init":
		s.began = true
		s.session, s.model = clean.Clip(l.SessionID, 128), clean.Clip(l.Model, 128)
	case "message":
		if l.Role == "assistant" && l.Content != "" {
			s.say(l.Content)
		}
	case "tool_use":
		s.call(l)
	case "tool_result":
		s.returned(l)
	case "error":
		s.fault(l.Message)
	case "result":
		s.conclude(l)
	case "model_request": // a line of preloadScript's
		s.ask(clean.Clip(l.Asked, 64))
	case "held": // preloadScript's too
		s.hold(l)
	case "exit": // of a command that failed; preloadScript's as well
		s.calls.fail(argumentLine(l.Command), clean.Line(l.Said, 32))
	case "tool_output": // backgroundScript's
		if s.busy() {
			s.tell(Event{Kind: EventSilent})
		}
	case "truncated": // a line of boxinit's, where it dropped output
		s.truncated = true
	}
}

func (s *stream) say(piece string) {
	if s.held != nil && piece == heldSaid {
		return // not the model's words
	}
	if !s.last.add(piece) {
		s.truncated = true
	}
	s.all.add(piece)
	s.signal.Add(piece)
	s.tell(Event{Kind: EventText, Text: s.signal.Draft()})
}

// ask processes a request to the model. If the same request comes again with only text
// in between, the first answer was cut, and its text is dropped.
func (s *stream) ask(asked string) {
	if asked != "" && asked == s.asked {
		s.last.back()
		s.all.back()
		s.signal = s.mark
	}
	s.asked = asked
	s.requests++
	s.waiting = true
	s.last.keep()
	s.all.keep()
	s.mark = s.signal
}

func (s *stream) call(l line) {
	s.asked = ""
	name, lookup := strings.CutPrefix(clean.Line(l.ToolName, 64), memoryTools)
	if s.tools == nil {
		s.tools = map[string]int{}
	}
	if _, known := s.tools[name]; !known && len(s.tools) >= maxNames {
		name = "other"
	}
	s.tools[name]++
	id := clean.Clip(l.ToolID, 128)
	detail, purpose := argument(l.Parameters)
	s.calls.begin(id, openCall{Call: Call{Tool: name, Detail: detail}, began: l.Time.at, lookup: lookup})
	s.last.reset()
	s.all.paragraph()
	s.signal.Break()
	s.tell(Event{Kind: EventTool, ID: id, Tool: name, Detail: detail, Purpose: purpose})
}

// hold records a command that needs approval; the first one of a run counts.
func (s *stream) hold(l line) {
	if s.held == nil && strings.TrimSpace(l.Command) != "" {
		s.held = &Held{Command: l.Command, Dir: heldDir(l.Dir)}
	}
}

func (s *stream) returned(l line) {
	id := clean.Clip(l.ToolID, 128)
	s.waiting = false
	e := Event{Kind: EventToolResult, ID: id, Detail: clean.Line(l.Output, 200)}
	if l.Status == "error" {
		e.Failed = true
		if _, message := faultOf(l.Error); message != "" {
			e.Detail = clean.Line(message, 200)
		}
	} else if fault := s.calls.open[id].fault; fault != "" {
		e.Failed, e.Detail = true, clean.Line(fault+": "+l.Output, 200)
	}
	e.Tool = s.calls.end(id, e.Detail, e.Failed, l.Time.at)
	s.tell(e)
}

func (s *stream) fault(message string) {
	message = clean.Line(message, 1000)
	if message == "" {
		return
	}
	if len(s.errors) == maxErrors {
		s.errors = append(s.errors[:0], s.errors[1:]...)
	}
	s.errors = append(s.errors, message)
	s.tell(Event{Kind: EventError, Failed: true, Detail: clean.Line(message, 200)})
}

func (s *stream) conclude(l line) {
	var stats struct {
		Total  int64 `json:"total_tokens"`
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	}
	_ = json.Unmarshal(l.Stats, &stats) // without stats there is still a result
	s.result = &result{ok: l.Status == "success",
		usage: Usage{Input: stats.Input, Output: stats.Output, Cached: stats.Cached, Total: stats.Total}}
	s.result.kind, s.result.error = faultOf(l.Error)
	s.result.kind, s.result.error = clean.Line(s.result.kind, 64), clean.Line(s.result.error, 4000)
}

// busy reports whether a tool is running, so that silence does not mean a slow model.
func (s *stream) busy() bool { return len(s.calls.open) > 0 }

// unasked reports whether the CLI ended although it was the model's turn, without asking it. It does so when the
// conversation has become too long for the model, and says nothing about it.
func (s *stream) unasked() bool {
	return !s.waiting && strings.TrimSpace(s.last.String()) == "" && (s.requests > 0 || len(s.tools) == 0)
}

// answer returns the text for the room.
func (s *stream) answer() string {
	unmarked := func(t text) string { return strings.TrimSpace(Unmark(strings.TrimSpace(t.String()))) }
	if t := unmarked(s.last); t != "" {
		return t
	}
	return unmarked(s.all)
}

func (s *stream) tell(e Event) {
	if s.events++; s.events > maxEvents {
		s.flood()
	} else if s.emit != nil {
		s.emit(e)
	}
}
