package agent

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxSignalLine is the longest line in which markers are recognised: a question
// with its context may stand on one.
const maxSignalLine = 2*MaxQuestion + 4<<10

// SignalReader finds the first question in the assistant's text, which arrives in
// pieces: call Add for each, Break at a tool call, then End. Never pass it a tool's
// output. Its memory is bounded. The zero value is ready to use, and a copy is a mark
// to return to.
//
// The first marker counts only if it starts a line, indented by at most three spaces;
// the others count wherever they follow, but for code within the question. In a block
// quote, and in a code fence that contains anything but one signal, a marker is
// ordinary text; so is a signal without a question. A signal that starts again before
// its end counts from the new start.
type SignalReader struct {
	said, after       bounded // the signal's message up to its end; what follows
	question, context bounded
	line              []byte // the line so far, less than maxSignalLine
	long              bool   // a part of it was already processed
	at                place
	start             int   // where in said the signal, or the fence, begins
	fenced            bool  // the signal is in a fence
	fence, inner      fence // the open one, and one inside a fenced question
}

// place is where a line is.
type place int

const (
	atText     place = iota
	atFence          // in a fence that has been empty so far
	atQuoted         // in one that is not
	atQuestion       // in a signal
	atContext
	atClose // after a signal, in its fence
	atAfter // after the signal that counts
)

// Add processes the next piece, which may be cut anywhere.
func (r *SignalReader) Add(piece string) {
	for len(piece) > 0 {
		n := min(len(piece), maxSignalLine-len(r.line))
		end := strings.IndexByte(piece[:n], '\n')
		if end >= 0 {
			n = end + 1
		}
		r.line = append(r.line, piece[:n]...)
		piece = piece[n:]
		if end >= 0 || len(r.line) == maxSignalLine {
			r.flush(end < 0)
		}
	}
}

// Break ends a message: the assistant did something else before it continued. An unfinished signal does not count, and
// the text is dropped unless it contains a question.
func (r *SignalReader) Break() {
	r.flush(false)
	if r.at != atClose && r.at != atAfter {
		*r = SignalReader{}
		return
	}
	r.at = atAfter
	if len(r.after.b) > 0 {
		r.after.add([]byte("\n\n"), MaxText)
	}
}

// End returns the result.
func (r *SignalReader) End() Signal {
	rest := *r // what is taken now may continue
	return rest.end()
}

func (r *SignalReader) end() Signal {
	last := strings.TrimLeft(string(r.line), " ")
	cut := !r.long && (r.at == atText || r.at == atFence) &&
		strings.HasPrefix(last, needInput[:len("<<<NEED")]) && strings.HasPrefix(needInput, last) && last != needInput
	r.flush(false)
	switch r.at {
	case atClose, atAfter:
		return Signal{
			Kind: Asked, Question: r.question.unmarked(), Context: r.context.unmarked(),
			Before: bounded{b: r.said.b[:r.start]}.unmarked(), After: r.after.unmarked(),
			Truncated: r.question.full || r.context.full || r.said.full || r.after.full,
		}
	case atQuestion, atContext:
		cut = true
	}
	s := Signal{Before: strings.ToValidUTF8(string(r.said.b), "\uFFFD"), Truncated: r.said.full}
	if cut {
		s.Kind = CutOff
	}
	return s
}

// Draft returns the end of the message so far, without a signal and without a line that may become one: at most
// MaxDraft bytes, for people who wait for the rest.
func (r *SignalReader) Draft() string {
	said, line := r.said.b, r.line
	switch r.at {
	case atText, atQuoted:
		if start := bytes.TrimLeft(line, " "); r.at == atText && !r.long &&
			(bytes.HasPrefix([]byte(needInput), start) || bytes.HasPrefix(start, []byte(needInput))) {
			line = nil
		}
	default:
		said, line = said[:r.start], nil
	}
	line = line[max(0, len(line)-MaxDraft):]
	said = said[max(0, min(len(said), len(said)+len(line)-MaxDraft)):]
	return strings.TrimSpace(unmarkDraft(strings.ToValidUTF8(string(said)+string(line), "")))
}

// flush processes the current line as far as it has arrived; more means that the line
// continues.
func (r *SignalReader) flush(more bool) {
	if whole := !r.long && !more; whole {
		r.split(r.line)
	} else if len(r.line) > 0 {
		r.take(r.line, false)
	}
	r.line = nil // not reused: a copy of the reader may hold it
	r.long = more
}

// split processes a whole line, and a marker that shares it with other text as if it
// had the line to itself.
func (r *SignalReader) split(raw []byte) {
	for len(raw) > 0 {
		at, end := r.nextMarker(raw)
		if at > 0 {
			r.take(raw[:at], true)
		}
		if at < end {
			r.take(raw[at:end], true)
		}
		raw = raw[end:]
	}
}

// nextMarker is where the next marker stands that counts; both numbers are the length
// of raw where there is none.
func (r *SignalReader) nextMarker(raw []byte) (at, end int) {
	switch r.at {
	case atText, atFence:
		if text := bytes.TrimLeft(raw, " "); bytes.HasPrefix(text, []byte(needInput)) {
			return 0, len(raw) - len(text) + len(needInput)
		}
	case atQuestion, atContext:
		if r.inner.n > 0 {
			break
		}
		at, end = len(raw), len(raw)
		for _, mark := range []string{inContext, endInput} {
			if i := bytes.Index(raw[:at], []byte(mark)); i >= 0 && (mark == endInput || r.at == atQuestion) {
				at, end = i, i+len(mark)
			}
		}
		return at, end
	}
	return len(raw), len(raw)
}

// take processes a line, or a part of one.
func (r *SignalReader) take(raw []byte, whole bool) {
	if r.at == atAfter {
		r.after.add(raw, MaxText)
		return
	}
	begin := len(r.said.b)
	r.said.add(raw, MaxText)
	var mark string
	var f fence
	if whole {
		mark, f = r.marker(raw), fenceOf(raw)
	}
	blank := len(bytes.TrimSpace(raw)) == 0
	switch r.at {
	case atText:
		if mark == needInput {
			r.open(begin, false)
		} else if f.n > 0 {
			r.at, r.fence, r.start = atFence, f, begin
		}
	case atFence:
		if mark == needInput {
			r.open(r.start, true)
		} else if r.fence.closedBy(f) {
			r.at = atText
		} else if !blank {
			r.at = atQuoted
		}
	case atQuoted:
		if r.fence.closedBy(f) {
			r.at = atText
		}
	case atQuestion, atContext:
		r.body(raw, mark, f, begin)
	case atClose:
		if r.fence.closedBy(f) {
			r.at = atAfter
		} else if !blank {
			r.at = atQuoted
		}
	}
}

func (r *SignalReader) open(start int, fenced bool) {
	r.at, r.start, r.fenced = atQuestion, start, fenced
	r.question, r.context, r.inner = bounded{}, bounded{}, fence{}
}

// body processes a line inside a signal.
func (r *SignalReader) body(raw []byte, mark string, f fence, begin int) {
	switch {
	case mark == needInput && r.fenced:
		r.at = atQuoted
	case mark == needInput:
		r.open(begin, false)
	case mark == inContext && r.at == atQuestion:
		r.at = atContext
	case mark == endInput && r.question.unmarked() == "":
		r.at = atText
		if r.fenced {
			r.at = atQuoted
		}
	case mark == endInput:
		r.at = atAfter
		if r.fenced {
			r.at = atClose
		}
	case r.fenced && r.inner.n == 0 && r.fence.closedBy(f):
		r.at = atText
	default:
		if r.inner.n == 0 {
			r.inner = f
		} else if r.inner.closedBy(f) {
			r.inner = fence{}
		}
		if r.at == atQuestion {
			r.question.add(raw, MaxQuestion)
		} else {
			r.context.add(raw, MaxQuestion)
		}
	}
}

// marker returns the marker that a line consists of, or "".
func (r *SignalReader) marker(raw []byte) string {
	indent := 3
	if r.at == atFence || (r.fenced && (r.at == atQuestion || r.at == atContext)) {
		indent += r.fence.indent
	}
	text := bytes.TrimLeft(raw, " ")
	if len(raw)-len(text) > indent || !bytes.HasPrefix(text, []byte("<<<")) { // a tab is an indent too
		return ""
	}
	switch s := string(bytes.TrimSpace(text)); s {
	case needInput, inContext, endInput:
		return s
	}
	return ""
}

// bounded is a text with a maximum length.
type bounded struct {
	b    []byte
	full bool
}

func (t *bounded) add(raw []byte, limit int) {
	if t.full {
		return
	}
	if room := limit - len(t.b); len(raw) > room {
		t.full = true
		for room > 0 && !utf8.RuneStart(raw[room]) {
			room--
		}
		raw = raw[:room]
	}
	t.b = append(t.b, raw...)
}

// unmarked is the text for people.
func (t bounded) unmarked() string {
	return strings.TrimSpace(Unmark(strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD"))))
}
