package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestSourcesInOrder(t *testing.T) {
	work, state, creds := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(work, ".env"), "STATE_DIR="+state+"\nLOG_LEVEL=warn\nMAX_PARALLEL_TASKS=2\nMATRIX_USER=@work:x\nAPI_TOKEN=from-work\n")
	write(filepath.Join(state, ".env"), "MAX_PARALLEL_TASKS=3\nMATRIX_USER=@state:x\nSANDBOX_PIDS=99\nGEMINI_API_KEY_FILE=/nowhere\n")
	write(filepath.Join(creds, "MATRIX_PASSWORD"), "from-creds\n")
	write(filepath.Join(creds, "API_TOKEN"), "not taken")
	write(filepath.Join(creds, "token"), "from-file\r\n")
	got, err := Load(map[string]string{"MATRIX_USER": "@fixed:x"}, []string{
		"LOG_LEVEL=error", "MATRIX_OWNERS=", "GEMINI_API_KEY=from-env",
		"CREDENTIALS_DIRECTORY=" + creds, "MATRIX_ACCESS_TOKEN_FILE=" + filepath.Join(creds, "token"),
	}, work)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"level": Level(zerolog.ErrorLevel), "tasks": Count(2), "user": UserName("@fixed:x"), "pids": PIDs(99), "state": Folder(state),
		"password": "from-creds", "api": "from-work", "key": "from-env", "token": "from-file", "owners": 0,
	}
	have := map[string]any{
		"level": got.LogLevel, "tasks": got.MaxParallel, "user": got.User, "pids": got.PIDs, "state": got.StateDir,
		"password": got.Password.Reveal(), "api": got.APIToken.Reveal(), "key": got.GeminiKey.Reveal(), "token": got.AccessToken.Reveal(), "owners": len(got.Owners),
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if os.Getenv("MATRIX_USER") != "" || os.Getenv("STATE_DIR") != "" {
		t.Error("reading a .env file changed the environment of the process")
	}
}

func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := load(t, "MATRIX_PASSWORD=x", "MATRIX_PASSWORD_FILE=/x", "API_TOKEN_FILE="+dir+"/none", "GEMINI_API_KEY_FILE="+empty, "MATRIX_ACCESS_TOKEN_FILE="+dir)
	want := []string{
		"MATRIX_PASSWORD and MATRIX_PASSWORD_FILE are both set; keep one of them",
		"MATRIX_ACCESS_TOKEN_FILE names " + dir + ", which cannot be read: is a directory",
		"GEMINI_API_KEY_FILE names " + empty + ", which is empty; expected a key of the Gemini API, in one line",
		"API_TOKEN_FILE names " + dir + "/none, which cannot be read: no such file or directory",
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestDotenvProblemsAreSettingsProblems(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte("SANDBOX_CPU=3\nwhat\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(nil, []string{"STATE_DIR=" + dir}, dir)
	want := []string{
		path + ":2: not a setting; write NAME=value, or start a comment with #",
		"SANDBOX_CPU (in " + path + ") is not a setting; did you mean SANDBOX_CPUS?",
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestMissing(t *testing.T) {
	cfg, err := load(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"MATRIX_HOMESERVER is missing; expected the address of the homeserver's client API, such as https://matrix.example.org",
		"MATRIX_USER is missing; expected the bot's user ID, such as @bot:example.org",
		"MATRIX_PASSWORD is missing; expected the password of the bot's account, in one line (or set MATRIX_ACCESS_TOKEN, or run `matrix-tui login`)",
		"MATRIX_OWNERS is missing; expected a comma-separated list of user IDs, such as @alice:example.org,@bob:example.org; without owners or MATRIX_ALLOW, nobody may use the bot",
		"GEMINI_API_KEY is missing; expected a key of the Gemini API, in one line",
	}
	if diff := cmp.Diff(want, cfg.Missing(false)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := cfg.Missing(true); len(got) != 4 {
		t.Errorf("with a stored login: %q", got)
	}
}

func TestConfigIsPrintedWithoutSecrets(t *testing.T) {
	cfg, err := load(t, "MATRIX_PASSWORD="+hidden, "MATRIX_ACCESS_TOKEN="+hidden, "GEMINI_API_KEY="+hidden, "API_TOKEN="+hidden)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := zerolog.New(&log)
	logger.Info().Any("config", cfg).Msgf("%+v", cfg)
	if out := fmt.Sprintf("%v %+v %#v", *cfg, cfg, cfg) + log.String(); leaks(out) || strings.Count(out, Redacted) < 4*5 {
		t.Errorf("printed: %s", out)
	}
}
