package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The parts of the scripts in deploy that no conversation script reaches.

// bash runs a text as the shell does, with its own folder and cache, with $deploy for the scripts' folder, and with
// nothing else of the tests' environment but PATH.
func bash(t *testing.T, text string, env ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	here, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MATRIX_TUI_CACHE=" + filepath.Join(dir, "cache"), "deploy=" + here}, env...)
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), err == nil
}

// parts is the beginning of a text that calls the installer's functions.
const parts = `DRY=no BOT=matrix-tui ETC=$PWD/etc; . "$deploy/lib.sh"; for part in change answers runtime release service; do . "$deploy/host/$part.sh"; done; `

// TestKnowSource checks from which clone origins the bot updates itself.
func TestKnowSource(t *testing.T) {
	for origin, want := range map[string]string{
		"https://git.example.org/team/bot.git":    "https://git.example.org/team/bot.git",
		"https://git.example.org:8443/~me/b_o-t/": "https://git.example.org:8443/~me/b_o-t/",
		"http://127.0.0.1:3000/bot":               "http://127.0.0.1:3000/bot",
		"http://localhost/bot.git":                "http://localhost/bot.git",
		"http://git.example.org/bot.git":          "", // not authenticated
		"http://localhost.example.org/bot.git":    "",
		"git://git.example.org/bot.git":           "",
		"git@git.example.org:team/bot.git":        "", // needs a login
		"ssh://git@git.example.org/bot.git":       "",
		"https://me:word@git.example.org/bot.git": "",
		"https://word@git.example.org/bot.git":    "",
		"/srv/bot.git":                            "",
		"file:///srv/bot.git":                     "",
		"ext::sh -c 'touch x'":                    "",
		"https://git.example.org/a b":             "",
		"https://git.example.org/bot?token=word":  "",
		"":                                        "",
	} {
		out, errs, ok := bash(t, parts+`ROOT=$PWD/clone
git init --quiet "$ROOT"; [ -z "$origin" ] || git -C "$ROOT" remote add origin "$origin"
know_source >/dev/null; printf %s "${A[UPDATE_SOURCE]:-}"`, "origin="+origin)
		if !ok || out != want {
			t.Errorf("%q: %q, not %q; %s", origin, out, want, errs)
		}
	}
	out, errs, ok := bash(t, parts+`ROOT=$PWD/clone
git init --quiet "$ROOT"; git -C "$ROOT" remote add origin https://git.example.org/bot.git
A[UPDATE_SOURCE]=archive+https://example.org/releases
know_source; printf %s "${A[UPDATE_SOURCE]}"`)
	if !ok || out != "archive+https://example.org/releases" {
		t.Errorf("what was set became %q; %s", out, errs)
	}
}

// TestRuntimeUnits checks how podman's services are started.
func TestRuntimeUnits(t *testing.T) {
	for runtime, want := range map[string]string{
		"":      "/usr/bin/podman system service\n",
		"runsc": "/usr/bin/podman --runtime /usr/local/lib/matrix-tui/runsc system service\n",
	} {
		for unit, script := range map[string]string{
			"the user's":   "user_unit | tail -n 1",
			"the system's": `put() { cat; }; HOME_DIR=/home/x A[PODMAN]=rootful; put_unit matrix-tui-podman.service | grep ^ExecStart=`,
		} {
			out, errs, ok := bash(t, parts+`IMAGE=x UNITS=$PWD; A[SANDBOX_RUNTIME]=$runtime; `+script, "runtime="+runtime)
			if !ok || out != "ExecStart="+want {
				t.Errorf("%s unit for %q: %q; %s", unit, runtime, out, errs)
			}
		}
	}
}

// TestAnswers reads files of answers.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct{ file, want, errs string }{
		"plain":   {"MATRIX_USER=@bot:example.org\n", `MATRIX_USER="@bot:example.org"`, ""},
		"quotes":  {"# mine\n\nexport MATRIX_OWNERS='@a:b.org, @c:d.org'\nGEMINI_MODEL = \"some model\" \r\n", "GEMINI_MODEL=\"some model\"\nMATRIX_OWNERS=\"@a:b.org, @c:d.org\"", ""},
		"no end":  {"MATRIX_USER=@bot:example.org", `MATRIX_USER="@bot:example.org"`, ""},
		"twice":   {"MATRIX_USER=@first:b.org\nMATRIX_USER=@second:b.org\n", `MATRIX_USER="@first:b.org"`, ""},
		"empty":   {"MATRIX_USER=\n", "", ""},
		"secrets": {"GEMINI_API_KEY=a\"b\\c$(reboot)`x`\n", "", ""}, // in a separate file
		"own":     {"PODMAN=rootful\nMATRIX_TUI_HOME=/srv/bot\n", "", ""},
		"no name": {"MATRIX_USER=@bot:example.org\nhello there\n", "", "answers:2: not an answer; write NAME=value, or start a comment with #."},
		"code":    {"MATRIX_USER;reboot=x\n", "", "answers:1: not an answer"},
		"quote":   {"GEMINI_MODEL=a\"b\n", "", "the value of GEMINI_MODEL contains a quote, a backslash or a control character"},
		"escape":  {"GEMINI_API_KEY=a\x1b[2Jb\n", "", "the value of GEMINI_API_KEY contains a quote, a backslash or a control character"},
		"no file": {"MATRIX_PASSWORD_FILE=/nowhere/word\n", "", "MATRIX_PASSWORD_FILE names a file that cannot be read."},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, ok := bash(t, parts+`printf %s "$file" >answers; read_answers answers; some_answers settings | grep -v "^#" || true`, "file="+c.file)
			if diff := cmp.Diff(c.want, strings.TrimSpace(out)); ok && diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if ok == (c.errs != "") || !strings.Contains(errs, c.errs) {
				t.Errorf("ended well: %v; it said %q", ok, errs)
			}
		})
	}
	out, errs, ok := bash(t, parts+`echo word >pass; printf "MATRIX_PASSWORD_FILE=$PWD/pass\n" >answers; read_answers answers; printf %s "${A[MATRIX_PASSWORD]}"`)
	if !ok || out != "word" {
		t.Errorf("a secret in a file: %q, %s", out, errs)
	}
	out, errs, ok = bash(t, parts+`export GOPROXY=https://proxy.example.org GOSUMDB=off; read_environment; some_answers settings | grep -v "^#"`)
	if !ok || out != "GOPROXY=\"https://proxy.example.org\"\nGOSUMDB=\"off\"\n" {
		t.Errorf("where modules come from: %q, %s", out, errs)
	}
	out, errs, ok = bash(t, parts+`echo GEMINI_MODEL=file >answers; export GEMINI_MODEL=environment; read_answers answers; read_environment; printf %s "${A[GEMINI_MODEL]}"`)
	if !ok || out != "file" {
		t.Errorf("file before environment: %q, %s", out, errs)
	}
}

// TestIsGVisor checks which gVisor the installer takes. What it says may be long.
func TestIsGVisor(t *testing.T) {
	for _, c := range []struct {
		podman, flags, version string
		want                   bool
	}{
		{"rootless", "-platform: systrap, kvm", "0.0~20240729.0-5", true},
		{"rootful", "-platform: systrap, kvm", "0.0~20240729.0-5", false},
		{"rootful", "-platform: systrap, kvm", "release-20260905.0", true},
		{"rootless", "-platform: ptrace, kvm", "0.0~20221219.0-1", false},
	} {
		_, errs, ok := bash(t, parts+`printf '#!/bin/sh\n[ "$1" = flags ] || { echo "runsc version $VERSION"; exit; }\necho "$FLAGS"\nyes flag | head -n 100000\n' >runsc
chmod +x runsc; A[PODMAN]=$PODMAN; is_gvisor ./runsc`, "PODMAN="+c.podman, "FLAGS="+c.flags, "VERSION="+c.version)
		if ok != c.want || errs != "" {
			t.Errorf("%+v: %v, %s", c, ok, errs)
		}
	}
}

// TestKeyrings checks what the installer sets for the kernel's keyrings, of which each running container needs one: from the
// next boot on, and at once where the host allows that.
func TestKeyrings(t *testing.T) {
	out, errs, ok := bash(t, parts+`. "$deploy/host/system.sh"; put() { cat; }; ensure() { shift; echo "$*"; }; need_keyrings`)
	if !ok || !strings.Contains(out, "\nkernel.keys.maxkeys = 20000\nkernel.keys.maxbytes = 2000000\n") ||
		!strings.HasSuffix(out, "\nhas_keyrings -- raise_keyrings\n") && !strings.Contains(out, "does not let us raise") {
		t.Errorf("%v, %q, %s", ok, out, errs)
	}
}

// TestTidy lets upkeep remove images from a store of the test's own.
func TestTidy(t *testing.T) {
	if os.Getenv("MATRIX_TUI_E2E") == "none" {
		t.Skip("NOT TESTED: MATRIX_TUI_E2E=none")
	}
	if _, err := exec.LookPath("podman"); err != nil {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal("MATRIX_TUI_E2E=require: ", err)
		}
		t.Skip("NOT TESTED: ", err)
	}
	out, errs, ok := bash(t, `export CONTAINERS_STORAGE_CONF=$PWD/storage.conf SANDBOX_IMAGE=localhost/ours:latest
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$PWD/graph" "$PWD/run" >storage.conf
[ "$(podman info --format '{{.Store.GraphRoot}}')" = "$PWD/graph" ] || { echo "podman takes another store" >&2; exit 1; }
trap 'podman rm --all --force --time 0 >/dev/null; podman rmi --all --force >/dev/null' EXIT
make() { # NAME AGE [LABEL]: an image of its own
	printf 'FROM scratch\nLABEL made=%s %s\n' "$1" "${3-io.matrix-tui.recipe=x}" |
		podman build --quiet --timestamp $(($(date +%s) - $2)) --tag "localhost/$1" --file - . >/dev/null
}
days=$((48 * 3600))
make ours:latest $days
make ours:before $days
make ours:used $days; podman create --name box localhost/ours:used /x >/dev/null
make ours:young 60
make ours:shared $days; podman tag localhost/ours:shared localhost/theirs:shared
make theirs:latest $days
make nameless $days; podman tag localhost/nameless localhost/again; make again 60; podman untag localhost/nameless
make nobodys:latest $days other=y
touch -d '40 days ago' old.log; touch new.log; mkdir -p "$MATRIX_TUI_CACHE/logs"; mv *.log "$MATRIX_TUI_CACHE/logs"
podman volume create workspace-kept >/dev/null
"$deploy/upkeep" --tidy >said
podman images --all --format '{{.Repository}}:{{.Tag}}' | sort
ls "$MATRIX_TUI_CACHE/logs"; podman volume ls --quiet; podman volume rm workspace-kept >/dev/null
sed 's/[0-9a-f]\{64\}/ID/' said | sort`)
	want := `localhost/again:latest
localhost/nobodys:latest
localhost/ours:latest
localhost/ours:used
localhost/ours:young
localhost/theirs:latest
localhost/theirs:shared
new.log
workspace-kept
deploy: removed the unused image ID
deploy: removed the unused image localhost/ours:before
deploy: removed the unused image localhost/ours:shared
deploy: room volumes: 1 (never removed automatically; use podman volume rm)
deploy: the image localhost/ours:latest was not built here: leaving it alone
`
	if diff := cmp.Diff(want, out); diff != "" || !ok {
		t.Errorf("left and said (-want +got):\n%s%s", diff, errs)
	}
}
