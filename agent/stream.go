package agent

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
)

const (
	// MaxText bounds Outcome.Text, in bytes.
	MaxText = 4 << 20
	// maxLine bounds one line of the stream. A longer line is cut there, and what comes before the cut is used.
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
	question  Signal  // of an earlier message than the last one, or zero
	since     int     // where in all the messages after that one begin
	asked     string  // digest of the model's last request
	requests  int     // to the model
	waiting   bool    // the model was asked after the last tool result
	held      *Held   // the first command that needs approval
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
		raw = closed(raw)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return // other lines may occur between the events
	}
	if cut || gjson.ValidBytes(raw) {
		s.take(gjson.ParseBytes(raw))
	}
}

// closed ends the string in which a line was cut. A field of another type than expected, or after the cut, is empty.
func closed(line []byte) []byte {
	tail := max(0, len(line)-len(`\u0000`))
	if at := bytes.IndexByte(line[tail:], '\\'); at >= 0 { // perhaps within an escape
		line = bytes.TrimRight(line[:tail+at], `\`)
	}
	return append(line, '"')
}

func (s *stream) take(l gjson.Result) {
	switch l.Get("type").Str {
	case "init":
		s.began = true
		s.session, s.model = clean.Clip(l.Get("session_id").Str, 128), clean.Clip(l.Get("model").Str, 128)
	case "message":
		if said := l.Get("content").Str; said != "" && l.Get("role").Str == "assistant" {
			s.say(said)
		}
	case "tool_use":
		s.call(l)
	case "tool_result":
		s.returned(l)
	case "error":
		s.fault(l.Get("message").Str)
	case "result":
		s.conclude(l)
	case "model_request": // a line of preloadScript's
		s.ask(clean.Clip(l.Get("asked").Str, 64))
	case "held": // preloadScript's too; the first one of a run counts
		if command := l.Get("command").Str; s.held == nil && strings.TrimSpace(command) != "" {
			s.held = &Held{Command: command, Dir: heldDir(l.Get("dir").Str)}
		}
	case "exit": // of a command that failed; preloadScript's as well
		s.calls.fail(argumentLine(l.Get("command").Str), clean.Line(l.Get("said").Str, 32))
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
	s.tell(Event{Kind: EventText, Text: s.last.draft()})
}

// ask processes a request to the model. If the same request comes again with only text
// in between, the first answer was cut, and its text is dropped.
func (s *stream) ask(asked string) {
	if asked != "" && asked == s.asked {
		s.last.back()
		s.all.back()
	}
	s.asked = asked
	s.requests++
	s.waiting = true
	s.last.keep()
	s.all.keep()
}

func (s *stream) call(l gjson.Result) {
	s.asked = ""
	name, lookup := strings.CutPrefix(clean.Line(l.Get("tool_name").Str, 64), roomTools)
	if s.tools == nil {
		s.tools = map[string]int{}
	}
	if _, known := s.tools[name]; !known && len(s.tools) >= maxNames {
		name = "other"
	}
	s.tools[name]++
	id := clean.Clip(l.Get("tool_id").Str, 128)
	detail, purpose := argument(l.Get("parameters"))
	s.calls.begin(id, openCall{Call: Call{Tool: name, Detail: detail}, began: l.Get("timestamp").Time(), lookup: lookup})
	s.all.paragraph()
	if s.question.Kind != Asked {
		s.question, s.since = signalOf(s.last.String()), len(s.all.b)
	}
	s.last.reset()
	s.tell(Event{Kind: EventTool, ID: id, Tool: name, Detail: detail, Purpose: purpose})
}

func (s *stream) returned(l gjson.Result) {
	id, output := clean.Clip(l.Get("tool_id").Str, 128), l.Get("output").Str
	s.waiting = false
	e := Event{Kind: EventToolResult, ID: id, Detail: clean.Line(output, 200)}
	if l.Get("status").Str == "error" {
		e.Failed = true
		if _, message := faultOf(l.Get("error")); message != "" {
			e.Detail = clean.Line(message, 200)
		}
	} else if fault := s.calls.open[id].fault; fault != "" {
		e.Failed, e.Detail = true, clean.Line(fault+": "+output, 200)
	}
	e.Tool = s.calls.end(id, e.Detail, e.Failed, l.Get("timestamp").Time())
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

func (s *stream) conclude(l gjson.Result) {
	stats := l.Get("stats") // without stats there is still a result
	s.result = &result{ok: l.Get("status").Str == "success", usage: Usage{Input: stats.Get("input_tokens").Int(),
		Output: stats.Get("output_tokens").Int(), Cached: stats.Get("cached").Int(), Total: stats.Get("total_tokens").Int()}}
	kind, message := faultOf(l.Get("error"))
	s.result.kind, s.result.error = clean.Line(kind, 64), clean.Line(message, 4000)
}

// busy reports whether a tool is running, so that silence does not mean a slow model.
func (s *stream) busy() bool { return len(s.calls.open) > 0 }

// unasked reports whether the CLI ended although it was the model's turn, without asking it. It does so when the
// conversation has become too long for the model, and says nothing about it.
func (s *stream) unasked() bool {
	return !s.waiting && strings.TrimSpace(s.last.String()) == "" && (s.requests > 0 || len(s.tools) == 0)
}

// signal returns the first question of the run. Without one, it is about the last message.
func (s *stream) signal() Signal {
	if s.question.Kind != Asked {
		return signalOf(s.last.String())
	}
	asked := s.question
	asked.After = strings.TrimSpace(asked.After + "\n\n" + unmarked(hide(string(s.all.b[s.since:])), MaxText))
	return asked
}

// answer returns the text for the room.
func (s *stream) answer() string {
	return cmp.Or(unmarked(hide(s.last.String()), MaxText), unmarked(hide(s.all.String()), MaxText))
}

func (s *stream) tell(e Event) {
	if s.events++; s.events > maxEvents {
		s.flood()
	} else if s.emit != nil {
		s.emit(e)
	}
}
