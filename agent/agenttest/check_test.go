package agenttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Parts and contents of a history.
func says(role, text string) string { return contentOf(role, fmt.Sprintf(`{"text":%q}`, text)) }

func contentOf(role string, parts ...string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, strings.Join(parts, ","))
}

func signed(id, name string) string {
	return fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q,"args":{"n":1}},"thoughtSignature":%q}`,
		id, name, base64.StdEncoding.EncodeToString(sign(name, map[string]any{"n": 1})))
}

func unsigned(id, name string) string {
	return fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q,"args":{"n":1}}}`, id, name)
}

func responds(id, name string) string {
	return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":{"output":"x"}}}`, id, name)
}

func history(contents ...string) string {
	return `{"contents":[` + strings.Join(contents, ",") + `]}`
}

func TestHistories(t *testing.T) {
	ask, tool, done := says("user", "go"), contentOf("model", signed("1", "a")), contentOf("user", responds("1", "a"))
	pair := contentOf("model", `{"text":"two"}`, signed("1", "a"), unsigned("2", "b"))
	for name, c := range map[string]struct{ body, want string }{
		"one message":              {history(ask), ""},
		"no role":                  {`{"contents":[{"parts":[{"text":"x"}]}]}`, ""},
		"two of the user":          {history(ask, ask), ""},
		"a tool":                   {history(ask, tool, done), ""},
		"a tool after a tool":      {history(ask, tool, done, tool, done), ""},
		"parallel":                 {history(ask, pair, contentOf("user", responds("2", "b"), responds("1", "a"))), ""},
		"response with text":       {history(ask, tool, contentOf("user", responds("1", "a"), `{"text":"and"}`)), ""},
		"older without signature":  {history(ask, contentOf("model", unsigned("1", "a")), done, says("model", "x"), ask), ""},
		"dummy signature":          {history(ask, contentOf("model", `{"functionCall":{"id":"1","name":"a"},"thoughtSignature":"skip_thought_signature_validator"}`), done), ""},
		"no call ID":               {history(ask, contentOf("model", signed("", "a")), contentOf("user", responds("", "a"))), ""},
		"no contents":              {`{"contents":[]}`, "contents is not specified"},
		"no parts":                 {history(ask, contentOf("model"), ask), "contents.parts must not be empty"},
		"empty text":               {history(says("user", "")), "contents.parts must not be empty"},
		"empty part":               {history(contentOf("user", "{}")), "required oneof field 'data'"},
		"no system instruction":    {`{"systemInstruction":{"parts":[]},` + history(ask)[1:], "contents.parts must not be empty"},
		"role":                     {history(says("system", "x")), validRole},
		"model first":              {history(says("model", "x"), ask), userFirst},
		"model last":               {history(ask, says("model", "x")), userLast},
		"call last":                {history(ask, tool), responseCount},
		"call without response":    {history(ask, tool, ask), responseCount},
		"response twice":           {history(ask, tool, contentOf("user", responds("1", "a"), responds("1", "a"))), responseCount},
		"response twice, apart":    {history(ask, tool, done, done), responseOrder},
		"one of two":               {history(ask, pair, contentOf("user", responds("1", "a"))), responseCount},
		"two contents":             {history(ask, pair, contentOf("user", responds("1", "a")), contentOf("user", responds("2", "b"))), responseCount},
		"one twice, one not":       {history(ask, pair, contentOf("user", responds("1", "a"), responds("1", "a"))), responseCount},
		"another ID":               {history(ask, tool, contentOf("user", responds("2", "a"))), responseCount},
		"another name":             {history(ask, tool, contentOf("user", responds("1", "b"))), responseCount},
		"ID lost":                  {history(ask, tool, contentOf("user", responds("", "a"))), responseCount},
		"response without call":    {history(ask, done), responseOrder},
		"response first":           {history(done), responseOrder},
		"call first":               {history(tool, done), callOrder},
		"call after text":          {history(ask, says("model", "x"), tool, done), callOrder},
		"call of the user":         {history(ask, contentOf("user", signed("1", "a")), done), callOrder},
		"older pair broken":        {history(ask, tool, ask, says("model", "x"), ask), responseCount},
		"no signature":             {history(ask, contentOf("model", unsigned("1", "a")), done), "missing a thought_signature"},
		"no signature, older step": {history(ask, contentOf("model", unsigned("1", "a")), done, contentOf("model", signed("2", "a")), contentOf("user", responds("2", "a"))), "missing a thought_signature"},
		"text in the turn":         {history(ask, contentOf("model", unsigned("1", "a")), contentOf("user", responds("1", "a"), `{"text":"and"}`)), "missing a thought_signature"},
		"signature on the second":  {history(ask, contentOf("model", unsigned("1", "a"), signed("2", "b")), contentOf("user", responds("1", "a"), responds("2", "b"))), "missing a thought_signature"},
		"forged signature":         {history(ask, contentOf("model", `{"functionCall":{"id":"1","name":"a"},"thoughtSignature":"Zm9yZ2Vk"}`), done), badSignature},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.body, c.want) })
	}
}

func refused(t *testing.T, body, want string) {
	t.Helper()
	got := ""
	if r := refuse("generateContent", []byte(body)); r != nil {
		got = r.Error()
	}
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("refused with %q, want %q: %s", got, want, body)
	}
}

func TestBodies(t *testing.T) {
	with := func(fields string) string { return "{" + fields + "," + history(says("user", "x"))[1:] }
	for name, c := range map[string]struct{ body, want string }{
		"settings":         {with(`"generationConfig":{"temperature":1,"topK":64,"responseMimeType":"text/plain","thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}`), ""},
		"level":            {with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}`), ""},
		"image from tool":  {history(says("user", "x"), contentOf("model", signed("1", "a")), contentOf("user", `{"functionResponse":{"id":"1","name":"a","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"QQ=="}}]}}`)), ""},
		"not JSON":         {"{", "Invalid JSON payload received"},
		"unknown":          {with(`"session":"x"`), `Unknown name "session": Cannot find field.`},
		"unknown, deep":    {history(contentOf("user", `{"text":"x","callIndex":1}`)), `Unknown name "callIndex"`},
		"upper case":       {with(`"SystemInstruction":{"parts":[{"text":"x"}]}`), `Unknown name "SystemInstruction"`},
		"enum":             {with(`"toolConfig":{"functionCallingConfig":{"mode":"SOMETIMES"}}`), "Invalid JSON payload received"},
		"unknown level":    {with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"EXTREME"}}`), "Invalid value at"},
		"type":             {with(`"generationConfig":{"temperature":"hot"}`), "Invalid JSON payload received"},
		"list as response": {history(contentOf("user", `{"functionResponse":{"name":"a","response":[]}}`)), "Invalid JSON payload received"},
		"two kinds":        {history(contentOf("user", `{"text":"x","functionCall":{"name":"a"}}`)), "Invalid JSON payload received"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.body, c.want) })
	}
}

func TestDeclarations(t *testing.T) {
	for name, c := range map[string]struct{ function, want string }{
		"none":              {`{"name":"memory_get","description":"d"}`, ""},
		"name":              {`{"name":"mcp_a.b:c-d","description":"d","parametersJsonSchema":{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"string"}}},"required":["a"],"additionalProperties":false}}`, ""},
		"upper case":        {`{"name":"a","description":"d","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":["x"]}},"required":["a"]}}`, ""},
		"space":             {`{"name":"a b","description":"d"}`, "Invalid function name"},
		"digit":             {`{"name":"1a","description":"d"}`, "Invalid function name"},
		"long":              {`{"name":"` + strings.Repeat("a", 65) + `","description":"d"}`, "Invalid function name"},
		"no description":    {`{"name":"a"}`, "description: must be specified"},
		"both":              {`{"name":"a","description":"d","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`, "only one of"},
		"not an object":     {`{"name":"a","description":"d","parametersJsonSchema":{"type":"string"}}`, "type OBJECT"},
		"no items":          {`{"name":"a","description":"d","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}}`, "properties[a].items: missing field"},
		"empty enum":        {`{"name":"a","description":"d","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":["x",""]}}}}`, "enum[1]: cannot be empty"},
		"required":          {`{"name":"a","description":"d","parameters":{"type":"OBJECT","required":["b"]}}`, "required[0]: property is not defined"},
		"keyword":           {`{"name":"a","description":"d","parametersJsonSchema":{"type":"object","properties":{"a":{"not":{}}}}}`, `Unknown name "not"`},
		"keyword of schema": {`{"name":"a","description":"d","parameters":{"type":"OBJECT","$ref":"x"}}`, `Unknown name "$ref"`},
		"deep":              {`{"name":"a","description":"d","parametersJsonSchema":` + strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `{"type":"string"}` + strings.Repeat("}}", 40) + `}`, "nesting depth"},
		"twice":             {`{"name":"a","description":"d"},{"name":"a","description":"d"}`, "Duplicate function declaration"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, `{"tools":[{"functionDeclarations":[`+c.function+`]}],`+history(says("user", "x"))[1:], c.want)
		})
	}
	refused(t, `{"tools":[{}],`+history(says("user", "x"))[1:], "tool_type")
	refused(t, `{"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"a","description":"d"}]}],`+history(says("user", "x"))[1:], "unsupported")
}

// What the server hands out is accepted when it comes back: an ID for each call, a signature for the first.
func TestCallsComeBack(t *testing.T) {
	_, url := start(t, `rules: [{when: go, call: [{name: a, args: {n: 1, f: 1.5, s: '<&>'}}, {name: b}]}, {tool: a, say: done}]`)
	parts := events(t, bodyOf(post(t, url+streamURL, user("go"))))[0].Candidates[0].Content.Parts
	if len(parts[0].ThoughtSignature) == 0 || len(parts[1].ThoughtSignature) != 0 || parts[0].FunctionCall.ID == parts[1].FunctionCall.ID {
		t.Fatalf("calls %+v", parts)
	}
	model, err := json.Marshal(content{Role: "model", Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	back := history(says("user", "go"), string(model), contentOf("user", responds(parts[0].FunctionCall.ID, "a"), responds(parts[1].FunctionCall.ID, "b")))
	if _, _, body := post(t, url+streamURL, back); !strings.Contains(body, "done") {
		t.Error(body)
	}
	server, url := start(t, `rules: [{tool: a, say: x}]`)
	dummy := contentOf("model", `{"functionCall":{"id":"1","name":"a"},"thoughtSignature":"`+dummies[0]+`"}`)
	if status, _, body := post(t, url+streamURL, history(says("user", "go"), dummy, contentOf("user", responds("1", "a")))); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body := post(t, url+streamURL, history(says("user", "go"), string(model), says("user", "more"))); status != 400 || !strings.Contains(body, responseCount) || !strings.Contains(body, "INVALID_ARGUMENT") {
		t.Errorf("%d %s", status, body)
	}
	if r := server.Requests(); len(r) != 2 || r[1].Status != 400 || !strings.Contains(r[1].Refused, "contents[2]") {
		t.Errorf("recorded %+v", r)
	}
}

// What is accepted can be matched by rules.
func FuzzRefuse(f *testing.F) {
	f.Add([]byte(history(says("user", "x"), contentOf("model", signed("1", "a")), contentOf("user", responds("1", "a")))))
	f.Add([]byte(`{"tools":[{"functionDeclarations":[{"name":"a","description":"d","parametersJsonSchema":{"type":"object"}}]}],` + history(says("user", "x"))[1:]))
	f.Add([]byte(`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}},"contents":[{"parts":[{"text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, method := range []string{"generateContent", "countTokens", "embedContent", "batchEmbedContents"} {
			if r := refuse(method, body); r != nil && (r.code != 400 || r.message == "") {
				t.Errorf("%s is refused with %+v", method, r)
			}
		}
	})
}
