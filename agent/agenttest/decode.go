package agenttest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// newer are the fields that Gemini CLI sends and the published messages lack, with the values that they may have. They
// are removed before a body is decoded. A star is each element of a list.
var newer = []struct {
	path    string
	allowed func(any) bool
}{
	// Gemini 3 thinks by level instead of by budget: https://ai.google.dev/gemini-api/docs/gemini-3
	{"generationConfig.thinkingConfig.thinkingLevel", func(v any) bool {
		return v == "MINIMAL" || v == "LOW" || v == "MEDIUM" || v == "HIGH"
	}},
	// Gemini 3 reads images in the response of a tool: https://ai.google.dev/gemini-api/docs/function-calling
	{"contents.*.parts.*.functionResponse.parts", func(v any) bool {
		list, ok := v.([]any)
		for _, one := range list {
			data, _ := json.Marshal(one) // cannot fail: it was JSON
			ok = ok && protojson.Unmarshal(data, new(pb.Part)) == nil
		}
		return ok && len(list) > 0
	}},
}

// decode reads a request body into one of Google's messages. Unknown fields, unknown values of enums, wrong types and
// two kinds of data in one part are refused.
func decode(body []byte, into proto.Message) *refusal {
	for _, field := range newer {
		key := field.path[strings.LastIndexByte(field.path, '.')+1:]
		if !bytes.Contains(body, []byte(`"`+key+`"`)) {
			continue
		}
		var tree any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		if dec.Decode(&tree) != nil {
			break // the error is found again below
		}
		if !strip(tree, strings.Split(field.path, "."), field.allowed) {
			return invalid("Invalid value at '%s'", field.path)
		}
		body, _ = json.Marshal(tree) // cannot fail: it was JSON
	}
	if err := protojson.Unmarshal(body, into); err != nil {
		return invalid("Invalid JSON payload received. %s", sentence(err))
	}
	return nil
}

// strip removes the field at path wherever it is. It returns false if the value is not one of those allowed.
func strip(tree any, path []string, allowed func(any) bool) bool {
	if path[0] == "*" {
		list, _ := tree.([]any)
		for _, one := range list {
			if !strip(one, path[1:], allowed) {
				return false
			}
		}
		return true
	}
	object, _ := tree.(map[string]any)
	value, ok := object[path[0]]
	if !ok {
		return true
	}
	if len(path) > 1 {
		return strip(value, path[1:], allowed)
	}
	delete(object, path[0])
	return allowed(value)
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// sentence says what is wrong with a body in the words of Google's front end.
func sentence(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf varies its spaces
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return `Unknown name "` + m[1] + `": Cannot find field.`
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:"))
}
