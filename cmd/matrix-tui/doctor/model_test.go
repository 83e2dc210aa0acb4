package doctor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/settings"
)

// fakeAPI answers tries of models by name; the others answer. It lists two models.
type fakeAPI map[string]struct {
	status int
	body   string
}

func (f fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(filepath.Base(r.URL.Path), ":")
	answer, scripted := f[name]
	switch {
	case scripted:
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(answer.status)
		fmt.Fprint(w, strings.ReplaceAll(answer.body, "{{key}}", r.Header.Get("x-goog-api-key")))
	case name == "models":
		io.WriteString(w, `{"models":[{"name":"models/gemini-4-pro","supportedGenerationMethods":["generateContent"]},{"name":"models/gemini-3.7-flash","supportedGenerationMethods":["generateContent"]}]}`)
	default:
		io.WriteString(w, `{"candidates":[]}`)
	}
}

func TestCheckModels(t *testing.T) {
	const nothing = `{"error":{"code":404,"status":"NOT_FOUND","message":"This model is no longer available to new users."}}`
	closed := fakeAPI{"gemini-4-pro": {404, nothing}}
	for _, test := range []struct {
		name, setting, policy string
		api                   fakeAPI
		embed                 bool
		want                  []string
	}{
		{"a name", "gemini-4-pro", "", fakeAPI{}, false, []string{"ok   model gemini-4-pro at API answers (set by name)"}},
		{"auto", "auto", "", closed, false, []string{"ok   model gemini-3.7-flash at API answers (auto: the newest stable flash model that the key may use; not gemini-4-pro (not available to the key))"}},
		{"a closed name", "gemini-4-pro", "", closed, false, []string{"FAIL model gemini-4-pro is not available to this key (404 This model is no longer available to new users.): set GEMINI_MODEL, or the policy's model, to auto or to a model that answers; these answer: gemini-3.7-flash"}},
		{"no pro", "pro", "", closed, false, []string{"FAIL model pro is not available to this key (none that the API lists answers: gemini-4-pro (not available to the key))"}},
		{"the policy's", "gemini-3.7-flash", `rooms: {"!a:b": {model: gemini-4-pro}, "!c:d": {model: flash}, "!e:f": {model: flash}}`, closed, false, []string{
			"ok   model gemini-3.7-flash at API answers (flash: ", "ok   model gemini-3.7-flash at API answers (set by name)", "FAIL model gemini-4-pro is not available"}},
		{"an alias", "gemini-pro-latest", "", fakeAPI{}, false, []string{"ok   model gemini-pro-latest at API answers (gemini-pro-latest: an alias of the API)"}},
		{"embeddings", "gemini-4-pro", "", fakeAPI{}, true, []string{"ok   model gemini-4-pro", "ok   model gemini-embedding-001 at API answers (for embeddings, GEMINI_EMBEDDING_MODEL)"}},
		{"no embeddings", "gemini-4-pro", "", fakeAPI{"gemini-embedding-001": {404, nothing}}, true, []string{"ok   model gemini-4-pro", "FAIL model gemini-embedding-001 is not available"}},
		{"a wrong key, once", "auto", `rooms: {"!a:b": {model: gemini-4-pro}}`, fakeAPI{"models": {400, `{"error":{"message":"API key {{key}} not found","details":[{"reason":"API_KEY_INVALID"}]}}`}}, true,
			[]string{"FAIL model API API rejects the key (400 API key *** not found): check GEMINI_API_KEY"}},
		{"a key that may not", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {403, `{"error":{"message":"disabled"}}`}}, false, []string{"FAIL model API API rejects the key (403 disabled)"}},
		{"a region", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {400, `{"error":{"status":"FAILED_PRECONDITION","message":"User location is not supported for the API use."}}`}}, false,
			[]string{"FAIL model API API has no service in the region of this host (400 User location is not supported for the API use.): run the bot in a region"}},
		{"a quota per minute", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {429, `{}`}}, false, []string{"ok   model gemini-4-pro at API accepts the key, but its quota is used up at the moment"}},
		{"a quota per day", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {429, `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]}}`}}, false,
			[]string{"FAIL model gemini-4-pro: the key's daily quota is used up (429"}},
		{"no quota", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {429, `{"error":{"message":"Quota exceeded, limit: 0"}}`}}, false, []string{"FAIL model gemini-4-pro: the key has no quota for it (429 Quota exceeded, limit: 0): enable billing"}},
		{"an overload", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {503, `{"error":{"message":"The model is overloaded."}}`}}, false, []string{"skip model gemini-4-pro at API is overloaded (503 The model is overloaded.)"}},
		{"a redirect", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {302, ""}}, false, []string{"FAIL model gemini-4-pro at API refused to answer (302"}},
		{"not the API", "gemini-4-pro", "", fakeAPI{"gemini-4-pro": {404, "<html>"}}, false, []string{"FAIL model gemini-4-pro at API refused to answer (404"}},
		{"no network", "gemini-4-pro", "", nil, true, []string{"FAIL model API API does not answer (dial tcp 127.0.0.1:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			api := httptest.NewServer(test.api)
			if test.api == nil {
				api.Close()
			}
			defer api.Close()
			cfg := &settings.Config{GeminiKey: settings.NewSecret(clitest.Hidden), GeminiModel: settings.Word(test.setting), GeminiURL: settings.WebAddress(api.URL), StateDir: settings.Folder(t.TempDir()), EmbeddingModel: "gemini-embedding-001"}
			if test.embed {
				cfg.Embeddings = settings.GeminiEmbeddings
			}
			if err := os.WriteFile(filepath.Join(string(cfg.StateDir), "policy.yaml"), []byte(test.policy), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			checkModels(t.Context(), cfg, func(f Finding) {
				line := strings.ReplaceAll(f.String(), api.URL, "API")
				if strings.Contains(line, clitest.Hidden) {
					t.Errorf("the finding contains the key: %s", line)
				}
				if i := len(got); i < len(test.want) && strings.HasPrefix(line, test.want[i]) {
					line = test.want[i]
				}
				got = append(got, line)
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unexpected findings (-want +got):\n%s", diff)
			}
		})
	}
}
