package agenttest

import (
	"fmt"
	"net/http"
)

// refusal is an error of the API. Why explains it to a test; it is not sent.
type refusal struct {
	code    int
	message string
	why     string
}

func (r *refusal) Error() string {
	if r.why == "" {
		return r.message
	}
	return r.message + " (" + r.why + ")"
}

// invalid is a refusal with INVALID_ARGUMENT.
func invalid(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

func (r *refusal) because(format string, args ...any) *refusal {
	r.why = fmt.Sprintf(format, args...)
	return r
}
