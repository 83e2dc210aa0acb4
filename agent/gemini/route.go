package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// The methods of the API that a room may use. Source: https://ai.google.dev/api
var (
	listPath = regexp.MustCompile(`^/v1(?:beta|alpha)?/models(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127})?$`)
	askPath  = regexp.MustCompile(`^/v1(?:beta|alpha)?/models/([A-Za-z0-9_-][A-Za-z0-9._-]{0,127}):(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$`)
)

// The only headers and query parameters that pass through; everything else, above all a key, is dropped, and what would
// make the server read or write another format than JSON.
var (
	requestHeaders = []string{"Accept-Language", "User-Agent", "X-Goog-Api-Client"}
	queryKeys      = []string{"alt", "pageSize", "pageToken"}

	// AnswerHeaders pass through to the agent.
	AnswerHeaders = []string{"Content-Type", "Retry-After"}
)

// Call is a request that a room may send to the API.
type Call struct {
	Model   string // "" if it is about no model in particular
	Asks    bool   // it uses the model: it is no list of models
	Free    bool   // it only counts tokens
	Streams bool

	generates bool
}

// CallOf returns which call a request is; ok says that rooms may send it.
func CallOf(method, path string) (c Call, ok bool) {
	match := askPath.FindStringSubmatch(path)
	if match == nil || method != http.MethodPost {
		return Call{}, method == http.MethodGet && listPath.MatchString(path)
	}
	name := match[2]
	return Call{
		Model: match[1], Asks: true, Free: name == "countTokens", Streams: name == "streamGenerateContent",
		generates: strings.HasSuffix(name, "enerateContent"),
	}, true
}

// Gated returns the model whose load and quota the call depends on, "" = none.
func (c Call) Gated() string {
	if !c.generates {
		return ""
	}
	return Base(c.Model)
}

// Query returns the part of a query that passes through.
func Query(given url.Values) (string, error) {
	if alt := given["alt"]; len(alt) > 1 || len(alt) == 1 && alt[0] != "sse" && alt[0] != "json" {
		return "", errors.New("answers come as JSON only: alt must be sse or json")
	}
	query := url.Values{}
	for _, k := range queryKeys {
		if given.Has(k) {
			query.Set(k, given.Get(k))
		}
	}
	return query.Encode(), nil
}

// headers sets the header of a request that leaves the host from the one that came.
func headers(out, given http.Header, key string, body bool) {
	if body {
		out.Set("Content-Type", "application/json")
	}
	for _, k := range requestHeaders {
		if v := given.Get(k); v != "" {
			out.Set(k, v)
		}
	}
	if out.Get("User-Agent") == "" {
		out.Set("User-Agent", "matrix-tui") // otherwise net/http adds its own
	}
	out.Set("X-Goog-Api-Key", key)
}

var statusNames = map[int]string{
	http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND", http.StatusBadRequest: "INVALID_ARGUMENT",
	http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusBadGateway: "UNAVAILABLE",
	http.StatusGatewayTimeout: "DEADLINE_EXCEEDED",
}

// sendError writes an error in the format of Google's APIs. Source:
// https://google.aip.dev/193
func sendError(w http.ResponseWriter, code int, message string) {
	data, _ := json.Marshal(map[string]any{"error": map[string]any{ // cannot happen: strings and numbers only
		"code": code, "message": message, "status": statusNames[code],
	}})
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	w.Write(data)
}

// The reasons for refusing a request to the model. The agent shows them to the room, so they are sentences.
var (
	errJSON      = errors.New("the request is not a JSON object")
	errPriority  = errors.New("the service tier cannot be chosen")
	errFile      = errors.New("files at an address and cached contents are not allowed: send the file itself")
	errTool      = "the tool %s runs at the model's provider and is not allowed (MODEL_TOOLS)"
	ownFunctions = "functionDeclarations" // tools that the agent runs itself
)

// Base returns a model's name without the suffix of its variant for agents, which has the same price and quota.
func Base(model string) string { return strings.TrimSuffix(model, "-customtools") }

// Billed returns why the provider would bill a request for more than its tokens, or nil. Tools are those that
// run at the provider and may be used. The body must be strict JSON:
// Google's parser accepts more, and would read another request than this one.
func Billed(body []byte, tools []string) (err error) {
	request := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body))) // without a copy: nobody changes the body
	if !json.Valid(body) || !request.IsObject() {
		return errJSON
	}
	request.ForEach(func(key, value gjson.Result) bool { // also each of several fields with the same name
		switch camel(key.String()) {
		case "tools":
			err = permit(value, tools)
		case "serviceTier":
			err = errPriority
		case "cachedContent":
			err = errFile
		case "contents", "systemInstruction", "content", "requests":
			err = embedded(value, maxNested)
		}
		return err == nil
	})
	return err
}

// maxNested is how deep a part can be in a request: requests, content, parts, functionResponse, parts, each in a list.
const maxNested = 12

// embedded refuses a file that the provider would fetch: the request does not tell what it costs. A function's
// arguments and its response are data.
func embedded(value gjson.Result, depth int) (err error) {
	value.ForEach(func(key, inner gjson.Result) bool {
		switch name := camel(key.String()); {
		case value.IsObject() && name == "fileData":
			err = errFile
		case value.IsObject() && (name == "args" || name == "response"), !inner.IsObject() && !inner.IsArray():
		case depth == 0:
			err = errJSON
		default:
			err = embedded(inner, depth-1)
		}
		return err == nil
	})
	return err
}

// permit checks a list of tools, or a single one.
func permit(list gjson.Result, tools []string) (err error) {
	list.ForEach(func(key, value gjson.Result) bool {
		if value.IsObject() && list.IsArray() {
			err = permit(value, tools)
		} else if name := camel(key.String()); name != ownFunctions &&
			!slices.ContainsFunc(tools, func(tool string) bool { return camel(tool) == name }) {
			err = fmt.Errorf(errTool, snake(name))
		}
		return err == nil
	})
	return err
}

// camel and snake convert between the two forms in which Google's API accepts the name of a field.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
