package api

import (
	"errors"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shelf *shelf
		code  int
		want  string
	}{
		{"well", &shelf{}, 200, `{"status":"ok","synced":"2026-03-04T05:06:07Z"}`},
		{"ill", &shelf{ill: errors.New("the homeserver does not answer")}, 503, `{"error":"the homeserver does not answer","synced":"2026-03-04T05:06:07Z"}`},
		{"starting", &shelf{starting: true}, 503, `{"error":"The bot is starting: it has not synced with the homeserver yet"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, _ := served(t, tt.shelf, testToken)
			if got := ask(t, "GET", base+"/healthz", ""); got.code != tt.code || got.body != tt.want+"\n" {
				t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	base, _ := served(t, &shelf{}, testToken)
	for range 2 {
		ask(t, "GET", base+"/context/nobody", "", bearer)
	}
	ask(t, "GET", base+"/wp-admin", "")
	got := ask(t, "GET", base+"/metrics", "", bearer)
	if got.code != 200 || !strings.HasPrefix(got.head.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %v", got.code, got.head)
	}
	for _, line := range []string{
		`matrix_tui_http_requests_total{code="404",route="/context/"} 2`,
		`matrix_tui_http_requests_total{code="401",route="none"} 1`,
		"matrix_tui_test 0", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(got.body, "\n"+line) {
			t.Errorf("no line %s in\n%s", line, got.body)
		}
	}
}

func TestHeaders(t *testing.T) {
	s := &shelf{}
	s.waiting(t, "asks")
	base, _ := served(t, s, testToken)
	for _, path := range []string{"/context/asks", "/context/nobody", "/healthz", "/nothing", "/metrics"} {
		got := ask(t, "GET", base+path, "", bearer)
		if got.head.Get("Cache-Control") != "no-store" || got.head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.head)
		}
		head := ask(t, "HEAD", base+path, "", bearer)
		if head.code != got.code || head.body != "" || head.head.Get("Content-Type") != got.head.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q %v", path, head.code, head.body, head.head)
		}
	}
}
