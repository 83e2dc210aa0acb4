package disk

import (
	"bytes"
	"encoding/json"
)

// Shorten returns a JSON value in at most limit bytes, if cutting its texts and lists is enough for that. The
// beginnings stay.
func Shorten(raw json.RawMessage, limit int) json.RawMessage {
	for most := 4 << 10; len(raw) > limit && most >= 64; most /= 2 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var value any
		if dec.Decode(&value) != nil {
			break
		}
		raw = JSON(shortened(value, most))
	}
	return raw
}

func shortened(value any, most int) any {
	switch v := value.(type) {
	case string:
		return Clip(v, most)
	case []any:
		v = v[:min(len(v), most/64)]
		for i := range v {
			v[i] = shortened(v[i], most)
		}
		return v
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key], most)
		}
	}
	return value
}
