package settings

import (
	"errors"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"matrix-tui/state/clean"
)

// load reads settings from these variables alone, with an empty working folder.
func load(t *testing.T, environ ...string) (*Config, error) {
	t.Helper()
	empty := t.TempDir()
	return Load(map[string]string{}, append([]string{"STATE_DIR=" + empty}, environ...), empty)
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var wrong *Error
	if !errors.As(err, &wrong) {
		t.Fatalf("error %v is no SettingsError", err)
	}
	return wrong.Problems
}

var equateSecrets = cmp.Comparer(func(a, b Secret) bool { return a.Reveal() == b.Reveal() })

func TestDefaults(t *testing.T) {
	got, err := Load(nil, nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		GeminiModel: "auto", GeminiURL: "https://generativelanguage.googleapis.com",
		ModelTools: ModelTools{"url_context"}, WarmTime: Minutes(20 * time.Minute), TokensPerDay: 20_000_000, TokensPerDayAll: 100_000_000,
		StateDir: "/home/matrix-tui", Image: "localhost/matrix-tui-sandbox:latest",
		Memory: 2 << 30, MemorySlot: "files", Embeddings: "none", EmbeddingModel: "gemini-embedding-001", CPUs: 2, PIDs: 1024, Files: 65536, Idle: Span(6 * time.Hour), DiskReserve: 1 << 30, OutPorts: Ports{80, 443},
		CodingTimeout: Seconds(40 * time.Minute), ExecutionTimeout: Minutes(time.Hour),
		Devices: FirstSeen, NotifyQuestion: true, NotifyComplete: true, Archive: Days(30 * 24 * time.Hour), QuotaWait: Span(24 * time.Hour), Debounce: Milliseconds(1500 * time.Millisecond), MaxParallel: 4, MediaMax: 50 << 20, UpdateWait: Seconds(time.Minute), LogLevel: Level(zerolog.InfoLevel),
		Engine: Podman, KubeListen: "0.0.0.0:3129", KubeStorage: 10 << 30,
	}
	if diff := cmp.Diff(want, got, equateSecrets, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEverySetting(t *testing.T) {
	dir := t.TempDir()
	got, err := load(t,
		"MATRIX_HOMESERVER=http://[::1]:8008/", "MATRIX_USER=@bot:example.org", "MATRIX_PASSWORD= p # w ", "MATRIX_ACCESS_TOKEN=tok",
		"MATRIX_OWNERS=@a:x.org, @b:x.org,", "MATRIX_ALLOW=@*:x.org @c:[::1]:80 @*:*", "E2EE_DEVICES=All", "REQUIRE_ENCRYPTION=Owners",
		"GEMINI_API_KEY=key", "GEMINI_MODEL=gemini-3-pro-preview", "GEMINI_BASE_URL=http://127.0.0.1:9/base/", "MODEL_TOOLS=google_search, url_context", "TOKENS_PER_DAY=5", "TOKENS_PER_DAY_ALL=50", "WARM_AGENTS=0", "WARM_MINUTES=3", "SESSION_DAILY_HOUR=0", "SESSION_IDLE=90s",
		"STATE_DIR="+dir+"/", "SANDBOX_IMAGE=localhost/x:1", "CONTAINER_HOST=unix:/run/p.sock", "SANDBOX_MEMORY=1.5GiB", "SLOTS_MEMORY=None", "SLOTS_EMBEDDINGS=Gemini", "GEMINI_EMBEDDING_MODEL=e-2",
		"SANDBOX_RUNTIME=runsc", "SANDBOX_CPUS=0.5", "SANDBOX_PIDS=0", "SANDBOX_NOFILE=1048576", "SANDBOX_PROXY_NAMES=yes", "SANDBOX_IDLE=90m", "MAX_CONTAINERS=7", "DISK_RESERVE=3g", "SANDBOX_PORTS=443, 22", "SANDBOX_DENY=9.9.9.9 192.0.2.7/24", "CODING_TIMEOUT_SECONDS=5", "EXECUTION_TIMEOUT_MINUTES=1", "QUOTA_WAIT=2h",
		"NOTIFY_ON_QUESTION=No", "NOTIFY_ON_COMPLETE=0", "DEBOUNCE_MILLISECONDS=0", "ARCHIVE_DAYS=1", "MEDIA_MAX_MB=7", "MAX_PARALLEL_TASKS=9", "ALERT_ROOM=!ops:x.org",
		"UPDATE_SOURCE=https://x.org/matrix-tui.git", "UPDATE_KEY=/etc/signers", "UPDATE_WAIT_SECONDS=5", "API_LISTEN=:80", "API_TOKEN=t", "WEB_LISTEN=0.0.0.0:81", "WEB_URL=https://bot.x.org/", "WEB_PREVIEW=p.x.org", "LOG_LEVEL=DEBUG",
		"SANDBOX_ENGINE=Kubernetes", "KUBECONFIG=/k:l", "KUBE_NAMESPACE=n", "KUBE_DOOR=10.0.0.1:3129", "KUBE_LISTEN=3130", "KUBE_STORAGE_CLASS=c", "KUBE_STORAGE=1g", "KUBE_SECCOMP=s.json", "KUBE_RUNTIME_CLASS=gvisor", "KUBE_PULL_SECRET=p", "KUBE_USER_NAMESPACES=on",
		"PATH=/bin", "MATRIX_TUI_E2E=require", "MATRIX_TUI_KILL_AT=x", "GEMINI_CLI=1", "NPM_TOKEN=n", "NOTIFY_SOCKET=/x", "HOME=/root")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Homeserver: "http://[::1]:8008", User: "@bot:example.org", Password: NewSecret(" p # w "), AccessToken: NewSecret("tok"),
		Owners: UserIDs{"@a:x.org", "@b:x.org"}, Allow: UserGlobs{"@*:x.org", "@c:[::1]:80", "@*:*"}, Devices: AllDevices, Proof: "owners",
		GeminiKey: NewSecret("key"), GeminiModel: "gemini-3-pro-preview", GeminiURL: "http://127.0.0.1:9/base", ModelTools: ModelTools{"google_search", "url_context"}, TokensPerDay: 5, TokensPerDayAll: 50, WarmAgents: new(Agents), WarmTime: Minutes(3 * time.Minute), SessionHour: new(Hour), SessionIdle: Span(90 * time.Second),
		StateDir: Folder(dir), Image: "localhost/x:1", ContainerHost: "unix:///run/p.sock", Memory: 3 << 29, MemorySlot: NoMemory, Embeddings: GeminiEmbeddings, EmbeddingModel: "e-2",
		Runtime: "runsc", CPUs: 0.5, PIDs: 0, Files: 1 << 20, ProxyNames: true, Idle: Span(90 * time.Minute), MaxContainers: 7, DiskReserve: 3 << 30, OutPorts: Ports{443, 22}, Deny: Networks{netip.MustParsePrefix("9.9.9.9/32"), netip.MustParsePrefix("192.0.2.0/24")}, CodingTimeout: Seconds(5 * time.Second), ExecutionTimeout: Minutes(time.Minute),
		QuotaWait: Span(2 * time.Hour), Archive: Days(24 * time.Hour), MaxParallel: 9, MediaMax: 7 << 20, AlertRoom: "!ops:x.org",
		Engine: Kubernetes, KubeNamespace: "n", KubeDoor: "10.0.0.1:3129", KubeListen: "127.0.0.1:3130", KubeStorageClass: "c", KubeStorage: 1 << 30, KubeSeccomp: "s.json", KubeRuntimeClass: "gvisor", KubePullSecret: "p", KubeUserNamespaces: true,
		UpdateSource: "https://x.org/matrix-tui.git", UpdateKey: "/etc/signers", UpdateWait: Seconds(5 * time.Second), APIListen: "127.0.0.1:80", APIToken: NewSecret("t"), WebListen: "0.0.0.0:81", WebURL: "https://bot.x.org", WebPreview: "p.x.org", LogLevel: Level(zerolog.DebugLevel),
	}
	if diff := cmp.Diff(want, got, equateSecrets, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if missing := got.Missing(false); missing != nil {
		t.Errorf("missing: %q", missing)
	}
	fields := reflect.TypeFor[Config]()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Tag.Get("env") == "" || f.Tag.Get("right") == "" {
			t.Errorf("field %s lacks its name or what it takes", f.Name)
		}
	}
}

func TestMalformedSettings(t *testing.T) {
	const isURL, isSize, isSecs, isAddress = "the address of the homeserver's client API, such as https://matrix.example.org",
		"an amount of memory of 16m or more, such as 512m or 2g (0 = no limit)",
		"a whole number of seconds from 1 to 2592000 (30 days), such as 2400",
		"a port, or an address and a port, to listen on, such as 8080 (on loopback) or 0.0.0.0:8080"
	for _, tt := range []struct{ set, want string }{
		{"MATRIX_HOMESERVER=matrix.org", `is "matrix.org"; expected ` + isURL},
		{"MATRIX_HOMESERVER=ftp://matrix.org", `is "ftp://matrix.org"; expected ` + isURL},
		{"MATRIX_HOMESERVER=https://", `is "https://"; expected ` + isURL},
		{"MATRIX_HOMESERVER=https://h:99999", `is "https://h:99999"; expected ` + isURL},
		{"MATRIX_HOMESERVER=https://h/?a=b", `is "https://h/?a=b"; expected ` + isURL},
		{"MATRIX_USER=bot:example.org", `is "bot:example.org"; expected the bot's user ID, such as @bot:example.org`},
		{"MATRIX_USER=@bot", `is "@bot"; expected the bot's user ID, such as @bot:example.org`},
		{"MATRIX_USER=@a b:c", `is "@a b:c"; expected the bot's user ID, such as @bot:example.org`},
		{"MATRIX_PASSWORD=one\ntwo", "is invalid: it contains a line break or another control character; expected the password of the bot's account, in one line"},
		{"MATRIX_OWNERS=@a:x,alice", `is "@a:x,alice", and "alice" is not a user ID; expected a comma-separated list of user IDs, such as @alice:example.org,@bob:example.org`},
		{"MATRIX_OWNERS=@*:x", `is "@*:x", and "@*:x" is not a user ID; expected a comma-separated list of user IDs, such as @alice:example.org,@bob:example.org`},
		{"MATRIX_ALLOW=*", `is "*", and "*" is not a user ID; expected a comma-separated list of user IDs, with @*:server for everyone on a server, such as @alice:example.org,@*:example.com`},
		{"MATRIX_ALLOW=@a:x @b*:y", `is "@a:x @b*:y", and "@b*:y" is not a user ID; expected a comma-separated list of user IDs, with @*:server for everyone on a server, such as @alice:example.org,@*:example.com`},
		{"GEMINI_MODEL=-m x", `is "-m x"; expected auto, pro, flash, or the name of a model, such as gemini-3.7-flash`},
		{"GEMINI_BASE_URL=localhost:80", `is "localhost:80"; expected the address of the Gemini API, such as https://generativelanguage.googleapis.com`},
		{"STATE_DIR=state", `is "state"; expected an absolute path, such as /home/matrix-tui`},
		{"SANDBOX_IMAGE=an image", `is "an image"; expected the name of an image that podman has, such as localhost/matrix-tui-sandbox:latest`},
		{"CONTAINER_HOST=ssh://root@h/run/p.sock", `is "ssh://root@h/run/p.sock"; expected podman's socket, such as unix:///run/podman/podman.sock (it must be on this host)`},
		{"CONTAINER_HOST=/run/p.sock", `is "/run/p.sock"; expected podman's socket, such as unix:///run/podman/podman.sock (it must be on this host)`},
		{"SANDBOX_RUNTIME=kata", `is "kata"; expected runsc (gVisor); unset = that of podman or the cluster`},
		{"SANDBOX_MEMORY=2", `is "2"; expected ` + isSize},
		{"SANDBOX_MEMORY=lots", `is "lots"; expected ` + isSize},
		{"SANDBOX_MEMORY=-1g", `is "-1g"; expected ` + isSize},
		{"SANDBOX_MEMORY=2x", `is "2x"; expected ` + isSize},
		{"SANDBOX_MEMORY=NaN", `is "NaN"; expected ` + isSize},
		{"SANDBOX_CPUS=two", `is "two"; expected a number of processors, such as 2 or 0.5 (0 = no limit)`},
		{"SANDBOX_CPUS=-1", `is "-1"; expected a number of processors, such as 2 or 0.5 (0 = no limit)`},
		{"SANDBOX_IDLE=6", `is "6"; expected a time from 1s to 8760h, such as 30m or 6h (0 = never)`},
		{"SANDBOX_IDLE=-1h", `is "-1h"; expected a time from 1s to 8760h, such as 30m or 6h (0 = never)`},
		{"SANDBOX_PIDS=3", `is "3"; expected a number of processes of 16 or more, such as 1024 (0 = no limit)`},
		{"SANDBOX_NOFILE=0", `is "0"; expected a number of open files from 1024 to 1048576, such as 65536`},
		{"SANDBOX_PORTS=ssh", `is "ssh"; expected a comma-separated list of ports, such as 80,443`},
		{"SANDBOX_PORTS=0", `is "0"; expected a comma-separated list of ports, such as 80,443`},
		{"SANDBOX_DENY=example.org", `is "example.org"; expected a comma-separated list of networks, such as 192.0.2.0/24,2001:db8::/32`},
		{"CODING_TIMEOUT_SECONDS=40m", `is "40m"; expected ` + isSecs},
		{"CODING_TIMEOUT_SECONDS=0", `is "0"; expected ` + isSecs},
		{"CODING_TIMEOUT_SECONDS=99999999999999999999", `is "99999999999999999999"; expected ` + isSecs},
		{"EXECUTION_TIMEOUT_MINUTES=1h", `is "1h"; expected a whole number of minutes from 1 to 43200 (30 days), such as 60`},
		{"NOTIFY_ON_QUESTION=maybe", `is "maybe"; expected true or false`},
		{"NOTIFY_ON_COMPLETE=2", `is "2"; expected true or false`},
		{"SLOTS_EMBEDDINGS=openai", `is "openai"; expected none or gemini`},
		{"E2EE_DEVICES=none", `is "none"; expected first-seen, cross-signed or all`},
		{"REQUIRE_ENCRYPTION=none", `is "none"; expected off, owners, approvals or all (unset = approvals, as soon as an owner has a cross-signing identity)`},
		{"MEDIA_MAX_MB=0", `is "0"; expected a whole number of megabytes from 1 to 1024, such as 50`},
		{"MAX_PARALLEL_TASKS=0", `is "0"; expected a whole number from 1 to 1000, such as 4`},
		{"API_LISTEN=localhost", `is "localhost"; expected ` + isAddress},
		{"API_LISTEN=65536", `is "65536"; expected ` + isAddress},
		{"API_LISTEN=:http", `is ":http"; expected ` + isAddress},
		{"API_LISTEN=http://localhost:80", `is "http://localhost:80"; expected ` + isAddress},
		{"API_LISTEN=::1:80", `is "::1:80"; expected ` + isAddress},
		{"API_LISTEN=a b:80", `is "a b:80"; expected ` + isAddress},
		{"API_TOKEN=a\x01b", "is invalid: it contains a line break or another control character; expected the bearer token of the HTTP API, in one line"},
		{"LOG_LEVEL=loud", `is "loud"; expected trace, debug, info, warn or error`},
		{"LOG_LEVEL=disabled", `is "disabled"; expected trace, debug, info, warn or error`},
		{"MATRIX_USER=" + strings.Repeat("x", 300), `is "` + strings.Repeat("x", 79) + `…"; expected the bot's user ID, such as @bot:example.org`},
	} {
		name, _, _ := strings.Cut(tt.set, "=")
		t.Run(clean.Short(tt.set, 40), func(t *testing.T) {
			environ := []string{tt.set}
			if name == "API_LISTEN" {
				environ = append(environ, "API_TOKEN=t")
			}
			_, err := load(t, environ...)
			if diff := cmp.Diff([]string{name + " " + tt.want}, problemsOf(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListenForms(t *testing.T) {
	for set, want := range map[string]Listen{
		"8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "0": "127.0.0.1:0", "127.0.0.1:0": "127.0.0.1:0",
		"localhost:80": "localhost:80", "0.0.0.0:80": "0.0.0.0:80", "[::1]:80": "[::1]:80", "[::]:80": "[::]:80", "[fe80::1%eth0]:80": "[fe80::1%eth0]:80",
	} {
		got, err := load(t, "API_LISTEN="+set, "API_TOKEN=t")
		if err != nil || got.APIListen != want {
			t.Errorf("API_LISTEN=%s: got %v, %v, want %s", set, got, err, want)
		}
	}
}

func TestTokenFitsAHeader(t *testing.T) {
	for _, token := range []string{"two words", " t", "t ", "schlüssel"} {
		_, err := load(t, "API_TOKEN="+token)
		want := []string{"API_TOKEN contains a space or a non-ASCII character, which an HTTP header cannot carry; expected the bearer token of the HTTP API, in one line"}
		if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", token, diff)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(t, "LOG_LEVEL=loud", "MAX_PARALLEL_TASKS=x", "MATRIX_PASWORD=secret-value", "SANDBOX_CPU=1", "API_LISTEN=:1", "GEMINI_KEY=secret-value")
	want := []string{
		"GEMINI_KEY (in the environment) is not a setting; did you mean GEMINI_API_KEY?",
		"MATRIX_PASWORD (in the environment) is not a setting; did you mean MATRIX_PASSWORD?",
		"SANDBOX_CPU (in the environment) is not a setting; did you mean SANDBOX_CPUS?",
		`MAX_PARALLEL_TASKS is "x"; expected a whole number from 1 to 1000, such as 4`,
		`LOG_LEVEL is "loud"; expected trace, debug, info, warn or error`,
		"API_LISTEN is set but API_TOKEN is not; expected the bearer token of the HTTP API, in one line",
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "secret-value") {
		t.Errorf("the error shows a value that may be a secret: %v", err)
	}
}

func TestMisspelt(t *testing.T) {
	for name, want := range map[string]string{
		"MATRIX_HOMESERVR": "MATRIX_HOMESERVER", "MATRIX_SERVER": "MATRIX_HOMESERVER", "MATRIX_OWNER": "MATRIX_OWNERS",
		"GEMINI_APIKEY": "GEMINI_API_KEY", "GEMINI_API_KEY_FIL": "GEMINI_API_KEY_FILE", "SANDBOX_MEM": "SANDBOX_MEMORY",
		"STATEDIR": "STATE_DIR", "STATE_DRI": "STATE_DIR", "LOG_LVEL": "LOG_LEVEL", "log_level": "LOG_LEVEL",
		"CODING_TIMEOUT_SECOND": "CODING_TIMEOUT_SECONDS", "CODNG_TIMEOUT_SECOND": "CODING_TIMEOUT_SECONDS",
		"MAX_PARALEL_TASK": "MAX_PARALLEL_TASKS", "NOTIFY_ON_QUESTIONS": "NOTIFY_ON_QUESTION", "CONTAINERHOST": "CONTAINER_HOST",
		"LOG_LEVEL": "", "API_TOKEN_FILE": "", "MATRIX_TUI_ANYTHING": "", "GEMINI_CLI_NO_RELAUNCH": "",
		"NPM_TOKEN": "", "CI_TOKEN": "", "NOTIFY_SOCKET": "", "PATH": "", "": "", "CREDENTIALS_DIRECTORY": "", "CONTAINER_SSHKEY": "",
	} {
		got, ours := misspelt(name)
		if !ours {
			got = ""
		}
		if got != want {
			t.Errorf("misspelt(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestBytesString(t *testing.T) {
	for in, want := range map[Bytes]string{2 << 30: "2g", 512 << 20: "512m", 3 << 29: "1536m", 0: "0", 1<<30 + 1: "1073741825"} {
		if got := in.String(); got != want {
			t.Errorf("%d = %q, want %q", int64(in), got, want)
		}
	}
}

func TestPageSettings(t *testing.T) {
	const right = "the address by which browsers reach the page"
	for _, c := range []struct{ listen, url, want string }{
		{"8081", "", ""},
		{"[::1]:8081", "http://localhost:8081", ""},
		{"0.0.0.0:8081", "https://bot.x.org", ""},
		{"0.0.0.0:8081", "", "WEB_LISTEN is set but WEB_URL is not; expected " + right},
		{"8081", "http://bot.x.org", `WEB_URL is "http://bot.x.org"; expected ` + right},
		{"0.0.0.0:8081", "http://localhost:8081", `WEB_URL is "http://localhost:8081"; expected ` + right},
		{"8081", "https://x.org/bot", `WEB_URL is "https://x.org/bot"; expected ` + right},
		{"8081", "bot.x.org", `WEB_URL is "bot.x.org"; expected ` + right},
	} {
		_, err := load(t, "WEB_LISTEN="+c.listen, "WEB_URL="+c.url)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("WEB_LISTEN=%s WEB_URL=%s: %v, want %q", c.listen, c.url, err, c.want)
		}
	}
	for domain, valid := range map[string]bool{"preview.x.org": true, "bot.x.org": false, "x.org": false, "y.bot.x.org": true,
		"*.x.org": false, "https://p.x.org": false, "org": false, "p.x.org:8": false} {
		if _, err := load(t, "WEB_LISTEN=8081", "WEB_URL=https://bot.x.org", "WEB_PREVIEW="+domain); (err == nil) != valid {
			t.Errorf("WEB_PREVIEW=%s: %v", domain, err)
		}
	}
	local, far := &url.URL{Host: "127.0.0.1:8081"}, &url.URL{Host: "bot.x.org"}
	if c := (&Config{}); c.PreviewDomain(local) != "localhost" || c.PreviewDomain(far) != "" {
		t.Errorf("previews are at %q, and far away at %q", c.PreviewDomain(local), c.PreviewDomain(far))
	}
}
