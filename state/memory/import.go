package memory

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"matrix-tui/state/clean"
)

const (
	maxImportLine = 1 << 20 // bytes of a line
	maxProblems   = 20      // that are reported
)

// ErrImport means that a file is not a conversation. Its text says what is wrong in which line.
var ErrImport = errors.New("not a conversation")

// ParseImport reads the lines of an import. The error lists the lines that are wrong.
func ParseImport(r io.Reader) ([]Entry, error) {
	var entries []Entry
	var problems []string
	wrong := func(line int, what string) { problems = append(problems, fmt.Sprintf("line %d: %s", line, what)) }
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxImportLine)
	line, size := 0, 0
	for len(problems) < maxProblems && in.Scan() {
		line++
		if size += len(in.Bytes()) + 1; size > MaxText {
			return nil, fmt.Errorf("%w: it is larger than %d MiB: import it in parts", ErrImport, MaxText>>20)
		}
		text := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\uFEFF"))
		if text == "" {
			continue
		}
		e, problem := parseMessage(text)
		if problem != "" {
			wrong(line, problem)
		}
		if e.From, e.To = line, line; e.Time.IsZero() && len(entries) > 0 {
			e.Time = entries[len(entries)-1].Time
		}
		entries = append(entries, e)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		wrong(line+1, fmt.Sprintf("it is longer than %d MiB", maxImportLine>>20))
	case err != nil:
		return nil, fmt.Errorf("read import: %w", err)
	}
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("%w: %s", ErrImport, strings.Join(problems, "; "))
	case len(entries) == 0:
		return nil, fmt.Errorf("%w: there is no line in it", ErrImport)
	}
	return entries, nil
}

// parseMessage reads one line; wrong says what is wrong with it.
func parseMessage(text string) (e Entry, wrong string) {
	var message struct {
		Role    string          `json:"role"`
		Name    string          `json:"name"`
		Content *string         `json:"content"`
		Time    json.RawMessage `json:"time"`
	}
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			if wrongType.Field == "" {
				return e, `it is not a JSON object {"role", "name", "content", "time"}`
			}
			return e, fmt.Sprintf("%q is not a text", wrongType.Field)
		}
		return e, "it is not JSON"
	}
	if message.Content == nil {
		return e, `it has no "content"`
	}
	e.Text = *message.Content
	e.Speaker = cmp.Or(message.Name, message.Role)
	at, ok := parseTime(message.Time)
	if !ok {
		return e, fmt.Sprintf("%s is not a time such as \"2026-05-08T13:56:00Z\"", clean.Line(string(message.Time), 60))
	}
	e.Time = at
	return e, ""
}

// layouts are how people write times. Without a zone it is UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999 MST",
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04",
	"2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "2006/01/02", "2006/01/02 (Mon) 15:04", time.RFC1123Z,
	time.RFC1123, time.UnixDate, time.ANSIC,
	"3:04 pm on 2 January, 2006", "3:04 PM on 2 January, 2006", "2 January 2006 15:04", "2 January 2006",
	"January 2, 2006 3:04 PM", "January 2, 2006", "02.01.2006 15:04", "02.01.2006",
}

// parseTime reads a time: a text, or seconds or milliseconds since 1970. None is a time that is not known.
func parseTime(raw json.RawMessage) (time.Time, bool) {
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return time.Time{}, true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n > 0 && n < 1e11:
			return time.UnixMicro(int64(n * 1e6)).UTC(), true
		case n >= 1e11 && n < 1e14:
			return time.UnixMicro(int64(n * 1e3)).UTC(), true
		}
		return time.Time{}, false
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil && nanos(at) != 0 {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
