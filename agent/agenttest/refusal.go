package agenttest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// refusal is an error of the API. Why explains it to a test; it is not sent.
type refusal struct {
	code    int
	status  string // a name of google.rpc.Code; "" = the usual one of code
	message string
	details []any
	retry   time.Duration // sent as a header and as a detail
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

// refusals are the kinds that a script can name. Sources: thedotmack/claude-mem#3278 (closed), openclaw/openclaw#18247
// and multica-ai/multica#7887 (quota).
var refusals = map[string]func(model string) *refusal{
	"key":    func(string) *refusal { return badKey() },
	"closed": closedModel,
	"region": func(string) *refusal {
		return &refusal{code: http.StatusBadRequest, status: "FAILED_PRECONDITION",
			message: "User location is not supported for the API use."}
	},
	"minute": func(model string) *refusal { return usedUp(model, "GenerateRequestsPerMinutePerProjectPerModel") },
	"day":    func(model string) *refusal { return usedUp(model, "GenerateRequestsPerDayPerProjectPerModel") },
	"overload": func(string) *refusal {
		return &refusal{code: http.StatusServiceUnavailable, message: "The model is overloaded. Please try again later."}
	},
}

const service = "generativelanguage.googleapis.com"

func detail(kind string, fields map[string]any) any {
	fields["@type"] = "type.googleapis.com/google.rpc." + kind
	return fields
}

// badKey is a 400, not a 401.
func badKey() *refusal {
	r := invalid("API key not valid. Please pass a valid API key.")
	r.details = []any{
		detail("ErrorInfo", map[string]any{"reason": "API_KEY_INVALID", "domain": "googleapis.com",
			"metadata": map[string]any{"service": service}}),
		detail("LocalizedMessage", map[string]any{"locale": "en-US", "message": r.message}),
	}
	return r
}

func noKey() *refusal {
	return &refusal{code: http.StatusForbidden,
		message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or " +
			"other form of API consumer identity to call this API."}
}

func closedModel(model string) *refusal {
	return &refusal{code: http.StatusNotFound, message: "This model models/" + model +
		" is no longer available to new users. Please update your code to use a newer model for the latest features and " +
		"improvements."}
}

func unknownModel(model, method string) *refusal {
	return &refusal{code: http.StatusNotFound, message: "models/" + model +
		" is not found for API version v1beta, or is not supported for " + method +
		". Call ListModels to see the list of available models and their supported methods."}
}

// quotaRetry is when the API wants to be asked again if the script does not say. Google sends such a short time for a
// quota per day, too.
const quotaRetry = 41 * time.Second

func usedUp(model, quota string) *refusal {
	const metric = service + "/generate_content_free_tier_requests"
	return &refusal{
		code: http.StatusTooManyRequests, retry: quotaRetry,
		message: "You exceeded your current quota, please check your plan and billing details. For more information on " +
			"this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n" +
			"* Quota exceeded for metric: " + metric + ", limit: 20, model: " + model + "\nPlease retry in {{retry}}.",
		details: []any{
			detail("Help", map[string]any{"links": []any{map[string]any{"description": "Learn more about Gemini API quotas",
				"url": "https://ai.google.dev/gemini-api/docs/rate-limits"}}}),
			detail("QuotaFailure", map[string]any{"violations": []any{map[string]any{
				"quotaMetric": metric, "quotaId": quota + "-FreeTier", "quotaValue": "20",
				"quotaDimensions": map[string]any{"location": "global", "model": model},
			}}}),
		},
	}
}

var statusNames = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// write answers with the refusal. A stream of JSON is an array, also if it is an error.
func (r *refusal) write(w http.ResponseWriter, mode streaming) {
	message, details, status := r.message, slices.Clone(r.details), r.status
	if r.retry > 0 {
		seconds := fmt.Sprintf("%gs", r.retry.Seconds())
		message = strings.ReplaceAll(message, "{{retry}}", seconds)
		details = append(details, detail("RetryInfo", map[string]any{"retryDelay": seconds}))
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.retry.Seconds()))))
	}
	if status == "" {
		status = statusNames[r.code]
	}
	e := map[string]any{"code": r.code, "message": message, "status": status}
	if len(details) > 0 {
		e["details"] = details
	}
	data, _ := json.Marshal(map[string]any{"error": e}) // cannot fail: strings and numbers only
	if mode == array {
		data = fmt.Appendf(nil, "[%s\n]\n", data)
	}
	sendBody(w, r.code, string(data))
}

func sendBody(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}
