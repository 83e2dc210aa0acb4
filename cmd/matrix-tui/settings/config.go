// Package settings reads the settings of matrix-tui: from the environment, .env files, files of secrets and systemd's
// credentials. [Config] is the list of them. Secrets are never printed.
package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"matrix-tui/state/clean"
)

// Config holds every setting. The tag `env` is its name in the environment,
// `envDefault` its default, `right` a description of valid values for error
// messages. Secrets print as "redacted".
type Config struct {
	Homeserver  WebAddress `env:"MATRIX_HOMESERVER" right:"the address of the homeserver's client API, such as https://matrix.example.org"`
	User        UserName   `env:"MATRIX_USER" right:"the bot's user ID, such as @bot:example.org"`
	Password    Secret     `env:"MATRIX_PASSWORD" right:"the password of the bot's account, in one line"`
	AccessToken Secret     `env:"MATRIX_ACCESS_TOKEN" right:"an access token of the bot's account, in one line"`
	Owners      UserIDs    `env:"MATRIX_OWNERS" right:"a comma-separated list of user IDs, such as @alice:example.org,@bob:example.org"`
	Allow       UserGlobs  `env:"MATRIX_ALLOW" right:"a comma-separated list of user IDs, with @*:server for everyone on a server, such as @alice:example.org,@*:example.com"`
	Devices     Devices    `env:"E2EE_DEVICES" envDefault:"first-seen" right:"first-seen, cross-signed or all"`
	Proof       Proof      `env:"REQUIRE_ENCRYPTION" right:"off, owners, approvals or all (unset = approvals, as soon as an owner has a cross-signing identity)"`

	GeminiKey   Secret     `env:"GEMINI_API_KEY" right:"a key of the Gemini API, in one line"`
	GeminiModel Word       `env:"GEMINI_MODEL" envDefault:"auto" right:"auto, pro, flash, or the name of a model, such as gemini-3.7-flash"`
	GeminiURL   WebAddress `env:"GEMINI_BASE_URL" envDefault:"https://generativelanguage.googleapis.com" right:"the address of the Gemini API, such as https://generativelanguage.googleapis.com"`

	ModelTools ModelTools `env:"MODEL_TOOLS" envDefault:"url_context" right:"none, or a comma-separated list of google_search, url_context, google_maps and code_execution"`

	SessionHour *Hour `env:"SESSION_DAILY_HOUR" right:"an hour of the day from 0 to 23, such as 4"`
	SessionIdle Span  `env:"SESSION_IDLE" right:"a time from 1s to 8760h, such as 30m or 6h (0 = never)"`

	WarmAgents *Agents `env:"WARM_AGENTS" right:"a whole number from 0 (none) to 64, such as 4"`
	WarmTime   Minutes `env:"WARM_MINUTES" envDefault:"20" right:"a whole number of minutes from 1 to 43200 (30 days), such as 20"`

	TokensPerDay    Tokens `env:"TOKENS_PER_DAY" envDefault:"20000000" right:"a whole number of tokens up to 1000000000000, such as 2000000 (0 = no limit)"`
	TokensPerDayAll Tokens `env:"TOKENS_PER_DAY_ALL" envDefault:"100000000" right:"a whole number of tokens up to 1000000000000, such as 10000000 (0 = no limit)"`

	StateDir      Folder    `env:"STATE_DIR" envDefault:"/home/matrix-tui" right:"an absolute path, such as /home/matrix-tui"`
	Image         Word      `env:"SANDBOX_IMAGE" envDefault:"localhost/matrix-tui-sandbox:latest" right:"the name of an image that podman has, such as localhost/matrix-tui-sandbox:latest"`
	ContainerHost SocketURI `env:"CONTAINER_HOST" right:"podman's socket, such as unix:///run/podman/podman.sock (it must be on this host)"`
	Memory        Bytes     `env:"SANDBOX_MEMORY" envDefault:"2g" right:"an amount of memory of 16m or more, such as 512m or 2g (0 = no limit)"`
	CPUs          CPUs      `env:"SANDBOX_CPUS" envDefault:"2" right:"a number of processors, such as 2 or 0.5 (0 = no limit)"`
	PIDs          PIDs      `env:"SANDBOX_PIDS" envDefault:"1024" right:"a number of processes of 16 or more, such as 1024 (0 = no limit)"`
	Files         Files     `env:"SANDBOX_NOFILE" envDefault:"65536" right:"a number of open files from 1024 to 1048576, such as 65536"`
	Runtime       Runtime   `env:"SANDBOX_RUNTIME" right:"runsc (gVisor); unset = that of podman or the cluster"`
	Idle          Span      `env:"SANDBOX_IDLE" envDefault:"6h" right:"a time from 1s to 8760h, such as 30m or 6h (0 = never)"`
	MaxContainers Count     `env:"MAX_CONTAINERS" right:"a whole number from 1 to 1000, such as 40"`
	DiskReserve   Bytes     `env:"DISK_RESERVE" envDefault:"1g" right:"an amount of disk of 16m or more, such as 1g (0 = none)"`
	OutPorts      Ports     `env:"SANDBOX_PORTS" envDefault:"80,443" right:"a comma-separated list of ports, such as 80,443"`
	Deny          Networks  `env:"SANDBOX_DENY" right:"a comma-separated list of networks, such as 192.0.2.0/24,2001:db8::/32"`
	ProxyNames    Switch    `env:"SANDBOX_PROXY_NAMES" envDefault:"false" right:"true or false"`

	Engine             Engine  `env:"SANDBOX_ENGINE" envDefault:"podman" right:"podman or kubernetes"`
	KubeNamespace      Word    `env:"KUBE_NAMESPACE" right:"the name of a namespace, such as matrix-tui"`
	KubeDoor           Address `env:"KUBE_DOOR" right:"the IP address and port at which pods reach the bot, such as 10.43.0.10:3129"`
	KubeListen         Listen  `env:"KUBE_LISTEN" envDefault:"0.0.0.0:3129" right:"a port, or an address and a port, to listen on, such as 0.0.0.0:3129"`
	KubeStorageClass   Word    `env:"KUBE_STORAGE_CLASS" right:"the name of a storage class, such as local-path"`
	KubeStorage        Bytes   `env:"KUBE_STORAGE" envDefault:"10g" right:"an amount of disk of 16m or more, such as 10g"`
	KubeSeccomp        Word    `env:"KUBE_SECCOMP" right:"the path of a profile below kubelet's folder for them, such as matrix-tui.json"`
	KubeRuntimeClass   Word    `env:"KUBE_RUNTIME_CLASS" right:"the name of a runtime class, such as gvisor"`
	KubePullSecret     Word    `env:"KUBE_PULL_SECRET" right:"the name of a secret with a registry's password"`
	KubeUserNamespaces Switch  `env:"KUBE_USER_NAMESPACES" envDefault:"false" right:"true or false"`

	MemorySlot MemorySlot `env:"SLOTS_MEMORY" envDefault:"files" right:"files or none"`

	Embeddings     EmbeddingSlot `env:"SLOTS_EMBEDDINGS" envDefault:"none" right:"none or gemini"`
	EmbeddingModel Word          `env:"GEMINI_EMBEDDING_MODEL" envDefault:"gemini-embedding-001" right:"the name of a model for embeddings, such as gemini-embedding-001"`

	CodingTimeout    Seconds      `env:"CODING_TIMEOUT_SECONDS" envDefault:"2400" right:"a whole number of seconds from 1 to 2592000 (30 days), such as 2400"`
	ExecutionTimeout Minutes      `env:"EXECUTION_TIMEOUT_MINUTES" envDefault:"60" right:"a whole number of minutes from 1 to 43200 (30 days), such as 60"`
	QuotaWait        Span         `env:"QUOTA_WAIT" envDefault:"24h" right:"a time from 1s to 8760h, such as 2h or 24h (0 = do not wait)"`
	NotifyQuestion   Switch       `env:"NOTIFY_ON_QUESTION" envDefault:"true" right:"true or false"`
	NotifyComplete   Switch       `env:"NOTIFY_ON_COMPLETE" envDefault:"true" right:"true or false"`
	Archive          Days         `env:"ARCHIVE_DAYS" envDefault:"30" right:"a whole number of days from 1 to 3650, such as 30"`
	Debounce         Milliseconds `env:"DEBOUNCE_MILLISECONDS" envDefault:"1500" right:"a whole number of milliseconds from 0 (off) to 60000, such as 1500"`
	MaxParallel      Count        `env:"MAX_PARALLEL_TASKS" envDefault:"4" right:"a whole number from 1 to 1000, such as 4"`
	MediaMax         Megabytes    `env:"MEDIA_MAX_MB" envDefault:"50" right:"a whole number of megabytes from 1 to 1024, such as 50"`
	UpdateSource     Source       `env:"UPDATE_SOURCE" right:"a git remote, such as https://example.org/matrix-tui.git, or archive+ before the address of a folder of release archives"`
	UpdateKey        Folder       `env:"UPDATE_KEY" right:"the absolute path of a public key (ssh or GPG)"`
	UpdateWait       Seconds      `env:"UPDATE_WAIT_SECONDS" envDefault:"60" right:"a whole number of seconds from 1 to 2592000 (30 days), such as 60"`
	APIListen        Listen       `env:"API_LISTEN" right:"a port, or an address and a port, to listen on, such as 8080 (on loopback) or 0.0.0.0:8080"`
	APIToken         Secret       `env:"API_TOKEN" right:"the bearer token of the HTTP API, in one line"`
	WebListen        Listen       `env:"WEB_LISTEN" right:"a port, or an address and a port, to listen on, such as 8081 (on loopback) or 0.0.0.0:8081"`
	WebURL           WebAddress   `env:"WEB_URL" right:"the address by which browsers reach the page, such as https://bot.example.org (without a path; http only on this host)"`
	WebPreview       Word         `env:"WEB_PREVIEW" right:"a domain whose subdomains reach the page's proxy, such as preview.example.org (the page is not in it)"`
	AlertRoom        RoomID       `env:"ALERT_ROOM" right:"the ID of a room, such as !abcdef:example.org (the bot has to be in it)"`
	Maintenance      Switch       `env:"MAINTENANCE" envDefault:"false" right:"true or false"`
	LogLevel         Level        `env:"LOG_LEVEL" envDefault:"info" right:"trace, debug, info, warn or error"`
}

// Error lists everything that is wrong with the settings, each with what would
// be valid. The process exits with code 2.
type Error struct{ Problems []string }

// Error puts each problem on its own line.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "invalid configuration: " + e.Problems[0]
	}
	return "invalid configuration:\n  - " + strings.Join(e.Problems, "\n  - ")
}

// Sentence is the same: it is written for the operator and holds no secret.
func (e *Error) Sentence() string { return e.Error() }

// Load reads the settings. Each source fills in what the earlier ones left open:
// fixed (set by the subcommand), the environment ("NAME=value" each), workDir/.env,
// STATE_DIR/.env, and for secrets their X_FILE and then $CREDENTIALS_DIRECTORY/X. An
// empty value counts as unset. The error is a *SettingsError with everything unknown or
// malformed; Missing lists what is merely missing.
func Load(fixed map[string]string, environ []string, workDir string) (*Config, error) {
	settings := map[string]string{}
	overlay(settings, fixed)
	overlay(settings, env.ToMap(environ))
	problems := unknownSettings(env.ToMap(environ), "the environment")

	addFile := func(dir string) {
		found, wrong := readDotenv(dir)
		problems = append(problems, wrong...)
		problems = append(problems, unknownSettings(found, filepath.Join(dir, ".env"))...)
		overlay(settings, found)
	}
	addFile(workDir)
	stateDir := settings["STATE_DIR"]
	if stateDir == "" {
		stateDir = fieldOf("STATE_DIR").Tag.Get("envDefault")
	}
	if filepath.IsAbs(stateDir) && !sameFolder(stateDir, workDir) {
		addFile(stateDir)
	}
	problems = append(problems, readSecrets(settings)...)

	cfg := &Config{}
	err := env.ParseWithOptions(cfg, env.Options{Environment: settings})
	problems = append(problems, parseProblems(err, settings)...)
	problems = append(problems, conflicts(cfg, settings)...)
	if len(problems) > 0 {
		return nil, &Error{problems}
	}
	return cfg, nil
}

// overlay adds to dst what it lacks. A secret is one setting in either form: X in dst
// blocks X_FILE of a later source, and vice versa.
func overlay(dst, src map[string]string) {
	had := map[string]bool{}
	for name := range dst {
		had[strings.TrimSuffix(name, "_FILE")] = true
	}
	for name, value := range src {
		if value == "" || dst[name] != "" {
			continue
		}
		if base := strings.TrimSuffix(name, "_FILE"); slices.Contains(secretNames, base) && had[base] {
			continue
		}
		dst[name] = value
	}
}

// readSecrets reads each secret X that is not set from X_FILE, or from
// $CREDENTIALS_DIRECTORY/X.
func readSecrets(settings map[string]string) (problems []string) {
	for _, name := range secretNames {
		path, given := settings[name+"_FILE"], true
		if path != "" && settings[name] != "" {
			problems = append(problems, fmt.Sprintf("%s and %s_FILE are both set; keep one of them", name, name))
			continue
		}
		if path == "" && settings[name] == "" && settings["CREDENTIALS_DIRECTORY"] != "" {
			path, given = filepath.Join(settings["CREDENTIALS_DIRECTORY"], name), false
		}
		if path == "" {
			continue
		}
		data, err := readBounded(path)
		switch {
		case err == nil && strings.TrimRight(string(data), "\r\n") == "" && given:
			problems = append(problems, fmt.Sprintf("%s_FILE names %s, which is empty; expected %s", name, path, RightFor(name)))
		case err == nil:
			settings[name] = strings.TrimRight(string(data), "\r\n")
		case given || !errors.Is(err, os.ErrNotExist):
			problems = append(problems, fmt.Sprintf("%s_FILE names %s, which cannot be read: %v", name, path, Reason(err)))
		}
	}
	return problems
}

// parseProblems turns the parser's errors into sentences that name the variable.
func parseProblems(err error, settings map[string]string) (problems []string) {
	var all env.AggregateError
	if err == nil {
		return nil
	}
	if !errors.As(err, &all) {
		return []string{err.Error()}
	}
	for _, err := range all.Errors {
		var wrong env.ParseError
		if !errors.As(err, &wrong) {
			problems = append(problems, err.Error())
			continue
		}
		field, _ := reflect.TypeFor[Config]().FieldByName(wrong.Name)
		name := field.Tag.Get("env")
		said := fmt.Sprintf("is %q", clean.Short(settings[name], 80))
		if slices.Contains(secretNames, name) {
			said = "is invalid: " + wrong.Err.Error()
		} else if !errors.Is(wrong.Err, errValue) {
			said += ", and " + wrong.Err.Error()
		}
		problems = append(problems, fmt.Sprintf("%s %s; expected %s", name, said, field.Tag.Get("right")))
	}
	return problems
}

// conflicts finds settings that do not fit together.
func conflicts(cfg *Config, settings map[string]string) (problems []string) {
	if settings["API_LISTEN"] != "" && !cfg.APIToken.Set() {
		problems = append(problems, "API_LISTEN is set but API_TOKEN is not; expected "+RightFor("API_TOKEN"))
	}
	problems = append(append(problems, pageConflicts(cfg)...), kubeConflicts(cfg)...)
	if strings.ContainsFunc(cfg.APIToken.Reveal(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		problems = append(problems, "API_TOKEN contains a space or a non-ASCII character, which an HTTP header cannot "+
			"carry; expected "+RightFor("API_TOKEN"))
	}
	return problems
}

// Missing lists the required settings that are missing; storedLogin means that the
// state folder has a login, which makes the password unnecessary.
func (c *Config) Missing(storedLogin bool) (problems []string) {
	need := func(set bool, name, more string) {
		if !set {
			problems = append(problems, fmt.Sprintf("%s is missing; expected %s%s", name, RightFor(name), more))
		}
	}
	need(c.Homeserver != "", "MATRIX_HOMESERVER", "")
	need(c.User != "", "MATRIX_USER", "")
	need(c.Password.Set() || c.AccessToken.Set() || storedLogin || bool(c.Maintenance), "MATRIX_PASSWORD",
		" (or set MATRIX_ACCESS_TOKEN, or run `matrix-tui login`)")
	need(len(c.Owners) > 0 || len(c.Allow) > 0, "MATRIX_OWNERS",
		"; without owners or MATRIX_ALLOW, nobody may use the bot")
	need(c.GeminiKey.Set(), "GEMINI_API_KEY", "")
	return problems
}

// secretNames are the settings of type Secret.
var secretNames = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if f.Type == reflect.TypeFor[Secret]() {
			names = append(names, f.Tag.Get("env"))
		}
	}
	return names
}()

// fieldOf returns the field of an existing setting.
func fieldOf(name string) reflect.StructField {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if f.Tag.Get("env") == name {
			return f
		}
	}
	panic("no setting is called " + name)
}

func RightFor(name string) string { return fieldOf(name).Tag.Get("right") }

func sameFolder(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}
