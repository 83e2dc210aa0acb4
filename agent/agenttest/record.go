package agenttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of the log of requests.
const (
	maxRequests = 1000
	maxText     = 64 << 20 // bytes
)

// Request is a request to the model, recorded for tests.
type Request struct {
	Seq    int       `json:"seq"`    // 1, 2, 3 …
	Time   time.Time `json:"time"`   // when it arrived, before the checks
	Method string    `json:"method"` // streamGenerateContent, countTokens …
	Model  string    `json:"model"`
	Text   string    `json:"text"`           // everything: system instruction, history, newest content
	User   string    `json:"user,omitempty"` // newest user text, as seen by when
	Tool   string    `json:"tool,omitempty"` // function responses at the end, as seen by tool
	JSON   bool      `json:"json,omitempty"` // a request of the CLI's own
	Rule   int       `json:"rule"`           // the rule that answered, counted from 1; 0 = default
	Status int       `json:"status"`

	Refused string `json:"refused,omitempty"` // why the API refuses the request itself: its history, a field, a declaration
}

// record is a bounded list of requests, guarded by the server's lock.
type record struct {
	last  int
	bytes int
	list  []Request
}

func (l *record) add(r Request) {
	l.last++
	r.Seq = l.last
	l.list = append(l.list, r)
	l.bytes += r.size()
	for len(l.list) > maxRequests || (l.bytes > maxText && len(l.list) > 1) {
		l.bytes -= l.list[0].size()
		l.list[0] = Request{}
		l.list = l.list[1:]
	}
}

func (r Request) size() int { return len(r.Text) + len(r.User) + len(r.Tool) }

func (l *record) since(seq int) []Request {
	out := []Request{}
	for _, r := range l.list {
		if r.Seq > seq {
			out = append(out, r)
		}
	}
	return out
}

// control serves /_script/: GET requests?since=N returns the requests with Seq above N as a JSON array, PUT rules
// replaces the script.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /_script/requests":
		n, err := strconv.Atoi(r.URL.Query().Get("since"))
		if err != nil && r.URL.Query().Has("since") {
			http.Error(w, "since is not a number", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.since(n))
	case "PUT /_script/rules":
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxScript+1))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		script, err := Load(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.SetScript(script)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}
