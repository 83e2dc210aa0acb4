// Package gemini is what the bot knows of the Gemini API: which of its methods rooms may use, what a request costs, and
// what the API says about models, keys and quota. A room's gateway has the route to the model from here: [Route].
package gemini

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"matrix-tui/state/clean"
)

// Kind says why the API does not answer, as far as somebody can do something about it.
type Kind string

// The kinds of refusals.
const (
	WrongKey Kind = "wrong_key"
	NoModel  Kind = "no_model" // the model does not exist, or not for this key
	Region   Kind = "region"
	Quota    Kind = "quota"
	Overload Kind = "overload"
	Network  Kind = "network" // there was no answer
	Refused  Kind = "refused" // anything else
)

const (
	maxError   = 256 << 10 // bytes of an error answer
	maxMessage = 300       // characters of its message
	maxRetry   = 48 * time.Hour
)

// Refusal is an error answer of the API, or none at all.
type Refusal struct {
	Kind    Kind
	Status  int           // of HTTP; 0 for Network
	Message string        // Google's, cleaned
	Retry   time.Duration // after which the API wants to be asked again; 0 = it does not say
	PerDay  bool          // the quota is one per day
	None    bool          // the quota is zero: this key may not use the model
}

var sayings = map[Kind]string{
	WrongKey: "the model's API rejects the key", NoModel: "the model is not available to this key",
	Region: "the model's API has no service in this region", Quota: "the model's quota is used up",
	Overload: "the model is overloaded", Network: "the model's API cannot be reached",
	Refused: "the model's API refused the request",
}

// Error is one sentence without secrets.
func (r *Refusal) Error() string {
	said := sayings[r.Kind]
	if r.Kind == Quota && r.None {
		said = "the key has no quota for the model"
	}
	var why []string
	if r.Status != 0 {
		why = append(why, strconv.Itoa(r.Status))
	}
	if r.Message != "" {
		why = append(why, r.Message)
	}
	if len(why) == 0 {
		return said
	}
	return said + " (" + strings.Join(why, " ") + ")"
}

// Passes reports whether the same request may succeed later.
func (r *Refusal) Passes() bool {
	return r.Kind == Network || r.Kind == Overload || r.Kind == Quota && !r.None
}

// What the messages of the API say where its status does not.
var (
	keySaid     = regexp.MustCompile(`(?i)API key (not valid|expired|not found)|reported as leaked`)
	noModelSaid = regexp.MustCompile(`(?i)no longer available|is not found for API version|not supported for (generateContent|embedContent)`)
	regionSaid  = regexp.MustCompile(`(?i)location is not supported|not available in your country`)
	noneSaid    = regexp.MustCompile(`\blimit: 0\b`)
	retrySaid   = regexp.MustCompile(`(?i)retry in ([0-9.]+(?:h|m|s|ms)(?:[0-9.]+(?:m|s|ms))*)`)
)

// Parse reads an error answer. Source of the format: https://google.aip.dev/193
func Parse(status int, header http.Header, body []byte) *Refusal {
	r := &Refusal{Status: status}
	body = bytes.TrimSpace(body[:min(len(body), maxError)])
	answer := gjson.Result{}
	if gjson.ValidBytes(body) {
		answer = gjson.ParseBytes(body)
	}
	if answer.IsArray() { // of a stream as JSON
		answer = answer.Get("0")
	}
	said := answer.Get("error")
	message := said.Get("message").String()
	r.Message = clean.Short(message, maxMessage)
	reasons := map[string]bool{said.Get("status").String(): true}
	for _, detail := range said.Get("details").Array() {
		reasons[detail.Get("reason").String()] = true
		switch _, kind, _ := strings.Cut(detail.Get("@type").String(), "google.rpc."); kind {
		case "RetryInfo":
			r.Retry = duration(detail.Get("retryDelay").String())
		case "QuotaFailure":
			for _, violation := range detail.Get("violations").Array() {
				r.PerDay = r.PerDay || strings.Contains(violation.Get("quotaId").String(), "PerDay")
			}
		}
	}
	if r.Retry == 0 {
		if match := retrySaid.FindStringSubmatch(message); match != nil {
			r.Retry = duration(match[1])
		}
	}
	if r.Retry == 0 {
		r.Retry = after(header.Get("Retry-After"))
	}
	r.None = noneSaid.MatchString(message)
	switch {
	case regionSaid.MatchString(message):
		r.Kind = Region
	case status == http.StatusUnauthorized, status == http.StatusForbidden, reasons["API_KEY_INVALID"],
		keySaid.MatchString(message):
		r.Kind = WrongKey
	case status == http.StatusTooManyRequests, reasons["RESOURCE_EXHAUSTED"]:
		r.Kind = Quota
	case reasons["NOT_FOUND"], noModelSaid.MatchString(message):
		r.Kind = NoModel
	case status >= 500:
		r.Kind = Overload
	default:
		r.Kind = Refused
	}
	if r.Kind != Quota {
		r.PerDay, r.None = false, false
	}
	return r
}

// duration reads one like 41.5s.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return min(max(d, 0), maxRetry)
}

// after reads a header Retry-After: seconds, or a time.
func after(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return min(max(time.Duration(min(seconds, int(maxRetry/time.Second)))*time.Second, 0), maxRetry)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at).Round(time.Second), 0), maxRetry)
}
