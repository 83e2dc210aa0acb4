package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// MaxEvent is the maximum size of an event in bytes. A homeserver accepts 65,536
	// and may bundle a few related events with one.
	MaxEvent = 512 << 10
	// MaxDepth is the maximum nesting of objects and arrays in an event.
	MaxDepth = 64
)

// ErrMalformed means that an event is not valid, or that other readers may read it
// differently.
var ErrMalformed = errors.New("malformed event")

// object is a JSON object with its keys exactly as they were written. Values
// are string, json.Number, bool, nil, object and []any.
type object map[string]any

// parse parses one JSON object. Keys must be unique in every object.
func parse(raw []byte) (object, error) {
	switch {
	case len(raw) > MaxEvent:
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrMalformed, MaxEvent)
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%w: not UTF-8", ErrMalformed)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	value, err := parseValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrMalformed)
	}
	o, ok := value.(object)
	if !ok {
		return nil, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	return o, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrMalformed, MaxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	switch token {
	case json.Delim('{'):
		return parseObject(dec, depth)
	case json.Delim('['):
		return parseArray(dec, depth)
	}
	return token, nil
}

func parseObject(dec *json.Decoder, depth int) (object, error) {
	o := object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		key := token.(string) // the decoder returns nothing else here
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("%w: a key appears twice", ErrMalformed)
		}
		if o[key], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token() // the closing brace
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return o, nil
}

func parseArray(dec *json.Decoder, depth int) ([]any, error) {
	list := []any{}
	for dec.More() {
		value, err := parseValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return list, nil
}

// keys holds the keys that we read in an object, each with the keys of the object
// below it; nil if that is not read.
type keys map[string]keys

// check returns ErrMalformed if an object has one of the known keys in another case.
func (o object) check(known keys) error {
	for key, value := range o {
		below, exact := known[key]
		if !exact {
			for name := range known {
				if strings.EqualFold(name, key) {
					return fmt.Errorf("%w: %q in another case", ErrMalformed, name)
				}
			}
			continue
		}
		if inner, ok := value.(object); ok && below != nil {
			if err := inner.check(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// text returns the string at a key, or "".
func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// object returns the object at a key, or nil.
func (o object) object(key string) object {
	inner, _ := o[key].(object)
	return inner
}

// flag returns the boolean at a key, or false.
func (o object) flag(key string) bool {
	b, _ := o[key].(bool)
	return b
}

// integer returns the integer at a key, or 0.
func (o object) integer(key string) int64 {
	number, _ := o[key].(json.Number)
	n, err := number.Int64()
	if err != nil {
		return 0
	}
	return n
}
