package gemini

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	badKey    = `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`
	closed    = `{"error":{"code":404,"message":"This model models/gemini-2.5-pro is no longer available to new users. Please update your code to use a newer model for the latest features and improvements.","status":"NOT_FOUND"}}`
	elsewhere = `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`
	perMinute = `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"5"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}`
	perDay    = `[{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 3h2m1.5s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]}}]`
	noQuota   = `{"error":{"code":429,"message":"Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro","status":"RESOURCE_EXHAUSTED"}}`
	overload  = `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		after  string
		body   string
		want   Refusal
	}{
		{"a wrong key", 400, "", badKey, Refusal{Kind: WrongKey, Status: 400, Message: "API key not valid. Please pass a valid API key."}},
		{"a disabled API", 403, "", `{"error":{"message":"disabled","status":"PERMISSION_DENIED"}}`, Refusal{Kind: WrongKey, Status: 403, Message: "disabled"}},
		{"a closed model", 404, "", closed, Refusal{Kind: NoModel, Status: 404, Message: "This model models/gemini-2.5-pro is no longer available to new users. Please update your code to use a newer model for the latest features and improvements."}},
		{"not the API", 404, "", "<html>404</html>", Refusal{Kind: Refused, Status: 404}},
		{"a region", 400, "", elsewhere, Refusal{Kind: Region, Status: 400, Message: "User location is not supported for the API use."}},
		{"a quota per minute", 429, "7", perMinute, Refusal{Kind: Quota, Status: 429, Message: "You exceeded your current quota.", Retry: 41 * time.Second}},
		{"a quota per day", 429, "", perDay, Refusal{Kind: Quota, Status: 429, Message: "You exceeded your current quota. Please retry in 3h2m1.5s.", Retry: 3*time.Hour + 2*time.Minute + 1500*time.Millisecond, PerDay: true}},
		{"no quota", 429, "", noQuota, Refusal{Kind: Quota, Status: 429, Message: "Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro", None: true}},
		{"an overload", 503, "", overload, Refusal{Kind: Overload, Status: 503, Message: "The model is overloaded. Please try again later."}},
		{"a header", 503, "12", "", Refusal{Kind: Overload, Status: 503, Retry: 12 * time.Second}},
		{"a header of nonsense", 503, "-99999999999999999999", "", Refusal{Kind: Overload, Status: 503}},
		{"a long delay", 429, "99999999999", "", Refusal{Kind: Quota, Status: 429, Retry: maxRetry}},
		{"an invalid request", 400, "", `{"error":{"message":"contents.parts must not be empty","status":"INVALID_ARGUMENT"}}`, Refusal{Kind: Refused, Status: 400, Message: "contents.parts must not be empty"}},
		{"nothing", 418, "", "", Refusal{Kind: Refused, Status: 418}},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			if test.after != "" {
				header.Set("Retry-After", test.after)
			}
			if diff := cmp.Diff(test.want, *Parse(test.status, header, []byte(test.body))); diff != "" {
				t.Errorf("unexpected refusal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusalIsASentence(t *testing.T) {
	for _, test := range []struct {
		refusal Refusal
		want    string
	}{
		{Refusal{Kind: Network}, "the model's API cannot be reached"},
		{Refusal{Kind: Quota, Status: 429, None: true}, "the key has no quota for the model (429)"},
		{Refusal{Kind: NoModel, Status: 404, Message: "gone"}, "the model is not available to this key (404 gone)"},
	} {
		if got := test.refusal.Error(); got != test.want {
			t.Errorf("Error() = %q, want %q", got, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{badKey, closed, elsewhere, perMinute, perDay, noQuota, overload, "", "[", `{"error":{"details":{"@type":1}}}`} {
		f.Add(400, "3", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		r := Parse(status, http.Header{"Retry-After": {after}}, body)
		if r.Kind == "" || r.Retry < 0 || r.Retry > maxRetry || len([]rune(r.Message)) > maxMessage || strings.ContainsAny(r.Error(), "\n\x00") {
			t.Errorf("Parse(%d, %q, %q) = %+v", status, after, body, r)
		}
	})
}
