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

	"matrix-tui/cmd/matrix-tui/settings"
)

// In a cluster, only its operator knows which public addresses are its own.
func TestCheckClusterDeny(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	defer server.Close()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":%q}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for deny, want := range map[string]int{"": 1, "192.0.2.7/32": 0} {
		cfg, err := settings.Load(nil, []string{"STATE_DIR=" + dir, "SANDBOX_ENGINE=kubernetes", "KUBE_DOOR=10.0.0.1:3129",
			"SANDBOX_DENY=" + deny, "SANDBOX_RUNTIME=runsc"}, dir)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		checkCluster(t.Context(), cfg, func(f Finding) { said = append(said, f.Text) })
		all := strings.Join(said, "\n")
		if strings.Count(all, "SANDBOX_DENY is not set") != want || !strings.Contains(all, "pods reach the bot at 10.0.0.1:3129") ||
			!strings.Contains(all, "have the runtime class gvisor; whether") {
			t.Errorf("with %q it says:\n%s", deny, all)
		}
	}
}
