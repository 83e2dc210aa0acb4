package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// badRequest is an invalid request, with its status.
type badRequest struct {
	status   int
	sentence string
}

func (e *badRequest) Error() string { return e.sentence }

func malformed(format string, args ...any) error {
	return &badRequest{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// readBody reads the JSON object of a request into fields, as decode does.
func readBody(w http.ResponseWriter, r *http.Request, fields map[string]any) error {
	if err := isJSON(r.Header); err != nil {
		return err
	}
	var body []byte
	var err error
	if r.ContentLength <= maxBody {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	}
	var large *http.MaxBytesError
	switch {
	case r.ContentLength > maxBody, errors.As(err, &large):
		w.Header().Set("Connection", "close") // do not wait for the rest of it
		return &badRequest{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is longer than %d KiB", maxBody>>10)}
	case err != nil:
		return malformed("The body is incomplete")
	}
	return decode(body, fields)
}

// isJSON checks the headers that describe the body.
func isJSON(h http.Header) error {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &badRequest{http.StatusUnsupportedMediaType,
			"The body must be JSON: send the header Content-Type: application/json"}
	}
	if h.Get("Content-Encoding") != "" {
		return &badRequest{http.StatusUnsupportedMediaType,
			"The body must not be compressed: remove the header Content-Encoding"}
	}
	return nil
}

// decode parses one JSON object. fields maps each allowed key to its destination: a
// *string or a *[]string. encoding/json alone would accept keys in another case
// and null. Every error is a *badRequest that names the field.
func decode(body []byte, fields map[string]any) error {
	if !utf8.Valid(body) {
		return malformed("The body is not valid UTF-8")
	}
	var given map[string]json.RawMessage
	err := json.Unmarshal(body, &given)
	var wrong *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return malformed("The body is not valid JSON: %s, at byte %d", wrong, wrong.Offset)
	case err != nil || given == nil:
		return malformed("The body must be a JSON object with %s", names(fields))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		into, known := fields[name]
		if !known {
			return malformed("Unknown field %s: the body may contain %s", quoted(name), names(fields))
		}
		if err := set(name, into, given[name]); err != nil {
			return err
		}
	}
	return nil
}

// set stores one value.
func set(name string, into any, raw json.RawMessage) error {
	want := "a string"
	if list, ok := into.(*[]string); ok {
		want = "an array of strings"
		if kind(raw) == "an array" {
			return setList(name, list, raw)
		}
	} else if kind(raw) == want {
		return json.Unmarshal(raw, into)
	}
	return malformed("The field %q must be %s, not %s", name, want, kind(raw))
}

func setList(name string, into *[]string, raw json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for i, one := range list {
		if kind(one) != "a string" {
			return malformed("The field %q must be an array of strings, but element %d is %s", name, i+1, kind(one))
		}
	}
	return json.Unmarshal(raw, into)
}

// kind names the type of a JSON value.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// names lists the fields of a body.
func names(fields map[string]any) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, `"`+name+`"`)
	}
	return strings.Join(list, ", ")
}

// quoted shortens a name from the client and puts it on one line.
func quoted(s string) string {
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:39]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// idempotencyKey returns that header, or "".
func idempotencyKey(h http.Header) (string, error) {
	keys := h.Values("Idempotency-Key")
	switch {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1:
		return "", malformed("The header Idempotency-Key occurs twice")
	case keys[0] == "" || len(keys[0]) > maxKey || strings.ContainsFunc(keys[0],
		func(r rune) bool { return r < ' ' || r > '~' }):
		return "", malformed("The header Idempotency-Key must have 1 to %d ASCII characters", maxKey)
	}
	return keys[0], nil
}
