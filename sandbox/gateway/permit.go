package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// The reasons for refusing a request to the model. The agent shows them to the room, so they are sentences.
var (
	errNoRun     = errors.New("no task is running in this room")
	errJSON      = errors.New("the request is not a JSON object")
	errPriority  = errors.New("the service tier cannot be chosen")
	errFile      = errors.New("files at an address and cached contents are not allowed: send the file itself")
	errForeign   = "the model %s is not configured for this room"
	errTool      = "the tool %s runs at the model's provider and is not allowed (MODEL_TOOLS)"
	ownFunctions = "functionDeclarations" // tools that the agent runs itself
)

// Begin lets a room use one model while a run is active. A room may have several runs; beginning one again only changes
// its model. A run that outlived the bot begins before the room is opened, or its requests would be refused.
func (g *Gateway) Begin(room, run, model string) {
	g.runsMu.Lock()
	if g.runs[room] == nil {
		g.runs[room] = map[string]string{}
	}
	g.runs[room][run] = strings.TrimPrefix(model, "models/")
	g.runsMu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.usage[room]; m != nil {
		m.last.Store(0)
		m.finish.Store("")
	}
}

// End ends what Begin began. Answers in progress are not cut. It is no error if the run has not begun.
func (g *Gateway) End(room, run string) {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	delete(g.runs[room], run)
	if len(g.runs[room]) == 0 {
		delete(g.runs, room)
	}
}

// permit returns why the room may not use a model now, or nil; "" is no model in particular.
func (g *Gateway) permit(room, model string) error {
	g.runsMu.Lock()
	defer g.runsMu.Unlock()
	runs := g.runs[room]
	if len(runs) == 0 {
		return errNoRun
	}
	for _, allowed := range runs {
		if model == "" || base(model) == allowed || model == allowed {
			return nil
		}
	}
	return fmt.Errorf(errForeign, model)
}

// base returns a model's name without the suffix of its variant for agents, which has the same price and quota.
func base(model string) string { return strings.TrimSuffix(model, "-customtools") }

// billed returns why the provider would bill a request for more than its tokens, or nil. The body must be strict JSON:
// Google's parser accepts more, and would read another request than this one.
func (c *Config) billed(body []byte) (err error) {
	request := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body))) // without a copy: nobody changes the body
	if !json.Valid(body) || !request.IsObject() {
		return errJSON
	}
	request.ForEach(func(key, value gjson.Result) bool { // also each of several fields with the same name
		switch camel(key.String()) {
		case "tools":
			err = c.tools(value)
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

// embedded refuses a file that the provider would fetch: the request does not tell what it costs. A function's arguments
// and its response are data.
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

// tools checks a list of tools, or a single one.
func (c *Config) tools(list gjson.Result) (err error) {
	list.ForEach(func(key, value gjson.Result) bool {
		if value.IsObject() && list.IsArray() {
			err = c.tools(value)
		} else if name := camel(key.String()); name != ownFunctions && !slices.ContainsFunc(c.Tools, func(tool string) bool { return camel(tool) == name }) {
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
