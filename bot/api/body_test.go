package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// decoded is what decode fills.
type decoded struct {
	Text string   `json:"text"`
	List []string `json:"list"`
}

func decodeBoth(body []byte) (decoded, error) {
	var d decoded
	err := decode(body, map[string]any{"text": &d.Text, "list": &d.List})
	return d, err
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		body string
		want decoded
		err  string
	}{
		{`{}`, decoded{}, ""},
		{" {\"text\" : \"a\\n\\u00e9\" ,\n\"list\":[ \"b\" , \"\" ] }\r\n", decoded{"a\né", []string{"b", ""}}, ""},
		{`{"list":[]}`, decoded{List: []string{}}, ""},

		{``, decoded{}, `The body is not valid JSON: unexpected end of JSON input, at byte 0`},
		{`{"text":"a"`, decoded{}, `The body is not valid JSON: unexpected end of JSON input, at byte 11`},
		{`{"text":"a"} {}`, decoded{}, `The body is not valid JSON: invalid character '{' after top-level value, at byte 14`},
		{`{"text":"a",}`, decoded{}, `The body is not valid JSON: invalid character '}' looking for beginning of object key string, at byte 13`},
		{`{text:"a"}`, decoded{}, `The body is not valid JSON: invalid character 't' looking for beginning of object key string, at byte 2`},
		{"\xef\xbb\xbf{}", decoded{}, `The body is not valid JSON: invalid character 'ï' looking for beginning of value, at byte 1`},
		{"{\"text\":\"\xff\"}", decoded{}, `The body is not valid UTF-8`},
		{`[]`, decoded{}, `The body must be a JSON object with "list", "text"`},
		{`null`, decoded{}, `The body must be a JSON object with "list", "text"`},
		{`"text"`, decoded{}, `The body must be a JSON object with "list", "text"`},

		{`{"other":1}`, decoded{}, `Unknown field "other": the body may contain "list", "text"`},
		{`{"Text":"a"}`, decoded{}, `Unknown field "Text": the body may contain "list", "text"`},
		{`{"` + strings.Repeat("ä", 99) + `":1}`, decoded{}, `Unknown field "` + strings.Repeat("ä", 39) + `…": the body may contain "list", "text"`},
		{`{"a\nb":1}`, decoded{}, `Unknown field "a\nb": the body may contain "list", "text"`},

		{`{"text":null}`, decoded{}, `The field "text" must be a string, not null`},
		{`{"text":1}`, decoded{}, `The field "text" must be a string, not a number`},
		{`{"text":-1}`, decoded{}, `The field "text" must be a string, not a number`},
		{`{"text":true}`, decoded{}, `The field "text" must be a string, not a boolean`},
		{`{"text":["a"]}`, decoded{}, `The field "text" must be a string, not an array`},
		{`{"text":{}}`, decoded{}, `The field "text" must be a string, not an object`},
		{`{"list":"a"}`, decoded{}, `The field "list" must be an array of strings, not a string`},
		{`{"list":null}`, decoded{}, `The field "list" must be an array of strings, not null`},
		{`{"list":["a",null]}`, decoded{}, `The field "list" must be an array of strings, but element 2 is null`},
		{`{"list":[{}]}`, decoded{}, `The field "list" must be an array of strings, but element 1 is an object`},
	} {
		got, err := decodeBoth([]byte(tt.body))
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(tt.err, said); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", tt.body, diff)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.body, diff)
		}
	}
}

// FuzzDecode compares decode with encoding/json: what decode accepts, encoding/json reads the same, and every refusal
// has a sentence that fits into a response.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","list":["b","c"]}`, `{"text":"\ud800 \u0000"}`, `{"text":"a","text":"b"}`, `{"list":[[],{}]}`,
		`{"TEXT":"a"}`, `{"":1}`, `{"a`, `[1,2]`, "\xff", `{"text":1e999}`, `{} {}`, strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeBoth(body)
		if err != nil {
			var bad *badRequest
			if !errors.As(err, &bad) || bad.status != http.StatusBadRequest {
				t.Fatalf("error %v is not a *badRequest", err)
			}
			if len(bad.sentence) > 1000 || !utf8.ValidString(bad.sentence) || strings.ContainsAny(bad.sentence, "\n\r\x00") {
				t.Fatalf("sentence %q", bad.sentence)
			}
			return
		}
		var want decoded
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted, but encoding/json says %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(body, &keys); err != nil {
			t.Fatal(err)
		}
		for name := range keys {
			if name != "text" && name != "list" {
				t.Fatalf("field %q was accepted", name)
			}
		}
	})
}
