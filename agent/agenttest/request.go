package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// wire is the part of a generateContent request that rules can match. Source:
// https://ai.google.dev/api/generate-content
type wire struct {
	Contents          []content `json:"contents"`
	SystemInstruction *content  `json:"systemInstruction"`
	GenerationConfig  struct {
		ResponseMimeType   string          `json:"responseMimeType"`
		ResponseSchema     json.RawMessage `json:"responseSchema"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

type part struct {
	Text             string        `json:"text,omitempty"`
	Thought          bool          `json:"thought,omitempty"`
	ThoughtSignature string        `json:"thoughtSignature,omitempty"` // base64
	FunctionCall     *functionCall `json:"functionCall,omitempty"`
	FunctionResponse *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse,omitempty"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// view is a request as rules see it.
type view struct {
	model  string // as it was asked for
	all    string // every text, call and response, oldest first
	system string
	user   string // newest user text
	tool   string // function responses at the end of the request; "" if there are none
	json   bool
	schema json.RawMessage
	digest bool // the CLI asks for a summary of the history
}

// Gemini CLI puts this before the first prompt of a session: date, folders, names of files.
const contextOpen, contextClose = "<session_context>", "</session_context>"

// withoutContext removes that, so that no rule matches the name of a file by accident.
func withoutContext(user string) string {
	if !strings.HasPrefix(user, contextOpen) {
		return user
	}
	if _, rest, ok := strings.Cut(user, contextClose); ok {
		return strings.TrimSpace(rest)
	}
	return user
}

// parse reads the body of a generateContent, countTokens or embedContent request.
func parse(body []byte) (view, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return view{}, fmt.Errorf("parse request: %w", err)
	}
	v := view{json: w.GenerationConfig.ResponseMimeType == "application/json"}
	v.schema = w.GenerationConfig.ResponseJSONSchema
	if v.schema == nil {
		v.schema = w.GenerationConfig.ResponseSchema
	}
	var all []string
	if w.SystemInstruction != nil {
		v.system = w.SystemInstruction.text()
		all = append(all, v.system)
	}
	for _, c := range w.Contents {
		all = append(all, c.all())
	}
	v.all = strings.Join(all, "\n")
	for i := len(w.Contents) - 1; i >= 0; i-- {
		// The API treats content without a role as the user's.
		if c := w.Contents[i]; c.Role == "user" || c.Role == "" {
			if v.user = withoutContext(c.text()); v.user != "" {
				break
			}
		}
	}
	v.digest = strings.Contains(v.user, "<state_snapshot>")
	if n := len(w.Contents); n > 0 {
		v.tool = w.Contents[n-1].responses()
	}
	return v, nil
}

// text joins the text parts with newlines.
func (c content) text() string {
	var out []string
	for _, p := range c.Parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// responses returns one line per function response: name, space, JSON.
func (c content) responses() string {
	var out []string
	for _, p := range c.Parts {
		if r := p.FunctionResponse; r != nil {
			out = append(out, r.Name+" "+compact(r.Response))
		}
	}
	return strings.Join(out, "\n")
}

func (c content) all() string {
	var out []string
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			args, _ := json.Marshal(p.FunctionCall.Args) // cannot happen: it came from JSON
			out = append(out, p.FunctionCall.Name+" "+string(args))
		}
	}
	for _, s := range []string{c.text(), c.responses()} {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
