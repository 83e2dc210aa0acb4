package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/execution"
)

func TestAuth(t *testing.T) {
	for _, tt := range []struct {
		name, token string
		header      []string
		path        string
		code        int
	}{
		{"right", testToken, []string{bearer}, "/context/x", 404},
		{"another case of the scheme", testToken, []string{"Authorization: bearer " + testToken}, "/context/x", 404},
		{"more spaces", testToken, []string{"Authorization: Bearer   " + testToken}, "/context/x", 404},
		{"none", testToken, nil, "/context/x", 401},
		{"wrong", testToken, []string{"Authorization: Bearer other"}, "/context/x", 401},
		{"beginning", testToken, []string{"Authorization: Bearer " + testToken[:5]}, "/context/x", 401},
		{"longer", testToken, []string{bearer + "x"}, "/context/x", 401},
		{"another case", testToken, []string{"Authorization: Bearer " + strings.ToUpper(testToken)}, "/context/x", 401},
		{"basic", testToken, []string{"Authorization: Basic " + testToken}, "/context/x", 401},
		{"without scheme", testToken, []string{"Authorization: " + testToken}, "/context/x", 401},
		{"empty", testToken, []string{"Authorization: Bearer"}, "/context/x", 401},
		{"twice", testToken, []string{bearer, bearer}, "/context/x", 401},
		{"unknown path without", testToken, nil, "/secret", 401},
		{"metrics without", testToken, nil, "/metrics", 401},
		{"metrics", testToken, []string{bearer}, "/metrics", 200},
		{"health without", testToken, nil, "/healthz", 200},
		{"no token set, none sent", "", nil, "/context/x", 401},
		{"no token set, empty sent", "", []string{"Authorization: Bearer"}, "/context/x", 401},
		{"no token set, empty sent after a space", "", []string{"Authorization: Bearer "}, "/context/x", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := served(t, &shelf{}, tt.token)
			got := ask(t, "GET", base+tt.path, "", tt.header...)
			if got.code != tt.code {
				t.Errorf("code %d, want %d: %s", got.code, tt.code, got.body)
			}
			if challenge := got.head.Get("WWW-Authenticate"); (challenge != "") != (tt.code == 401) {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
			if tt.code == 401 && got.body != said("Missing or wrong header Authorization: Bearer TOKEN, with the bot's API_TOKEN") {
				t.Errorf("body %s", got.body)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	ok := `{"room":"` + testRoom + `","transcript":"x"}`
	long := strings.Repeat("x", maxBody)
	const plain = "The body must be JSON: send the header Content-Type: application/json"
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string // instead of isJSON's
		code                     int
		want                     string
	}{
		{"no path", "GET", "/", "", nil, 404, "Path not found"},
		{"below a path", "POST", "/execute/x", ok, nil, 404, "Path not found"},
		{"no id", "GET", "/context/", "", nil, 404, "Path not found"},
		{"two ids", "GET", "/context/a/b", "", nil, 404, "Path not found"},
		{"hidden slash", "GET", "/context/a%2fb", "", nil, 404, "Path not found"},
		{"dots", "GET", "/context/../metrics", "", nil, 404, "Path not found"},
		{"long id", "GET", "/context/" + long[:maxID+1], "", nil, 404, "Path not found"},
		{"longest id", "GET", "/context/" + long[:maxID], "", nil, 404, "Session not found"},
		{"no session", "GET", "/context/nobody", "", nil, 404, "Session not found"},
		{"no session to answer", "POST", "/resume/nobody", `{"answer":"x"}`, nil, 404, "Session not found"},
		{"no room", "POST", "/execute", `{"room":"!other:x","transcript":"x"}`, nil, 404, "Room not found: the bot is not in a room with this ID"},

		{"execute read", "GET", "/execute", "", nil, 405, "This path supports only POST"},
		{"execute put", "PUT", "/execute", ok, nil, 405, "This path supports only POST"},
		{"context written", "POST", "/context/x", ok, nil, 405, "This path supports only GET, HEAD"},
		{"context deleted", "DELETE", "/context/x", "", nil, 405, "This path supports only GET, HEAD"},
		{"resume read", "GET", "/resume/x", "", nil, 405, "This path supports only POST"},
		{"metrics written", "POST", "/metrics", "", nil, 405, "This path supports only GET, HEAD"},
		{"health written", "POST", "/healthz", "", nil, 405, "This path supports only GET, HEAD"},
		{"unknown method", "DANCE", "/execute", ok, nil, 405, "This path supports only POST"},

		{"form", "POST", "/execute", ok, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, plain},
		{"text", "POST", "/execute", ok, []string{"Content-Type: text/plain"}, 415, plain},
		{"no type", "POST", "/execute", ok, []string{"Accept: */*"}, 415, plain},
		{"malformed type", "POST", "/execute", ok, []string{"Content-Type: application/json; charset"}, 415, plain},
		{"other charset", "POST", "/execute", ok, []string{"Content-Type: application/json; charset=latin1"}, 415, plain},
		{"zipped", "POST", "/execute", ok, []string{isjson, "Content-Encoding: gzip"}, 415, "The body must not be compressed: remove the header Content-Encoding"},
		{"resume by form", "POST", "/resume/x", "answer=x", []string{"Content-Type: application/x-www-form-urlencoded"}, 415, plain},

		{"too long", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"` + long + `"}`, nil, 413, "The body is longer than 1024 KiB"},
		{"too long to resume", "POST", "/resume/x", `{"answer":"` + long + `"}`, nil, 413, "The body is longer than 1024 KiB"},
		{"as long as may be", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"` + long[:maxBody-len(`{"room":"`+testRoom+`","transcript":""}`)] + `"}`, nil, 422, "A part of the task is longer than 64 KiB."},
		{"many commands", "POST", "/execute", `{"room":"` + testRoom + `","commands":["a"` + strings.Repeat(`,"a"`, execution.MaxCommands) + `]}`, nil, 422, "A task has at most 64 parts."},

		{"no body", "POST", "/execute", "", nil, 400, "The body is not valid JSON: unexpected end of JSON input, at byte 0"},
		{"without room", "POST", "/execute", `{"transcript":"x"}`, nil, 400, `The field "room" is missing: it is the ID of a room that the bot is in`},
		{"nothing to do", "POST", "/execute", `{"room":"` + testRoom + `","transcript":"","commands":[]}`, nil, 400, `The field "transcript" is missing or blank: it says what to do`},
		{"blank", "POST", "/execute", `{"room":"` + testRoom + `","transcript":" \n","commands":["  "]}`, nil, 400, `The field "transcript" is missing or blank: it says what to do`},
		{"without answer", "POST", "/resume/x", `{}`, nil, 400, `The field "answer" is missing: it is the answer to the question`},
		{"numeric answer", "POST", "/resume/x", `{"answer":2}`, nil, 400, `The field "answer" must be a string, not a number`},
		{"empty key", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: "}, 400, "The header Idempotency-Key must have 1 to 255 ASCII characters"},
		{"long key", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: " + long[:maxKey+1]}, 400, "The header Idempotency-Key must have 1 to 255 ASCII characters"},
		{"two keys", "POST", "/execute", ok, []string{isjson, "Idempotency-Key: a", "Idempotency-Key: b"}, 400, "The header Idempotency-Key occurs twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{}
			base, _ := served(t, s, testToken)
			if tt.header == nil {
				tt.header = []string{isjson}
			}
			got := ask(t, tt.method, base+tt.path, tt.body, append(tt.header, bearer)...)
			if diff := cmp.Diff(said(tt.want), got.body); got.code != tt.code || diff != "" {
				t.Errorf("code %d, want %d; body (-want +got):\n%s", got.code, tt.code, diff)
			}
			if kind := got.head.Get("Content-Type"); kind != "application/json" {
				t.Errorf("Content-Type is %q", kind)
			}
			if allow := got.head.Get("Allow"); tt.code == 405 && "This path supports only "+allow != tt.want {
				t.Errorf("Allow is %q", allow)
			}
			if len(s.list) > 0 {
				t.Error("something was started")
			}
		})
	}
}

// TestLongBodyInPieces sends a body without a Content-Length.
func TestLongBodyInPieces(t *testing.T) {
	base, _ := served(t, &shelf{}, testToken)
	body := io.MultiReader(strings.NewReader(`{"room":"`), strings.NewReader(strings.Repeat("x", maxBody)), strings.NewReader(`"}`))
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/execute", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + testToken}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); resp.StatusCode != 413 || string(got) != said("The body is longer than 1024 KiB") {
		t.Errorf("%d %s %v", resp.StatusCode, got, err)
	}
}
