package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the scripts in deploy download, and what they do with it.

// deployed returns the files in deploy that are not Go's.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("../../deploy", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains([]string{".go", ".mod", ".sum", ".md", ".png"}, filepath.Ext(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, "../../deploy/")] = strings.ReplaceAll(string(text), "\\\n", " ")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// downloads matches a command that gets something and runs nothing of it.
var downloads = regexp.MustCompile(`^(set -eu|export \w+=\S+|printf .*|apt-get -qq update|apt-get -qq .*--download-only.*|` +
	`(while|do) .*|/usr/lib/apt/apt-helper .*"SHA512:\$sum"|done <\S+)$`)

// TestOnlyDownloadsHaveNetwork checks that each build of an image has no network, except those that only download.
func TestOnlyDownloadsHaveNetwork(t *testing.T) {
	files, builds := deployed(t), 0
	for name, text := range files {
		for line := range strings.Lines(text) {
			_, args, ok := strings.Cut(line, "podman build ")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			builds++
			if strings.Contains(args, "--network none") {
				continue
			}
			_, file, _ := strings.Cut(args, `--file "$here/`)
			file, _, _ = strings.Cut(file, `"`)
			recipe, ok := files["image/"+file]
			if !ok {
				t.Errorf("%s: what is built with a network? %s", name, line)
			}
			for run := range strings.Lines(recipe) {
				run, ok := strings.CutPrefix(run, "RUN ")
				if !ok {
					continue
				}
				run = regexp.MustCompile(`--mount=\S+ `).ReplaceAllString(run, "")
				for _, command := range regexp.MustCompile(`; (?:do )?|&& |\| `).Split(strings.ReplaceAll(run, ";\\n", "\\n"), -1) {
					if command = strings.Join(strings.Fields(command), " "); !downloads.MatchString(command) {
						t.Errorf("%s runs with a network: %s", file, command)
					}
				}
			}
		}
		if name != "image/build" && regexp.MustCompile(`--net(work)?[ =]host`).MatchString(text) {
			t.Errorf("%s uses the host's network", name)
		}
		if regexp.MustCompile(`\bnpm (install|i|exec)\b|\bnpx |\bpip3? install\b|curl [^\n]*\| *(ba)?sh|\bdebootstrap --variant`).MatchString(text) && name != "lib.sh" {
			t.Errorf("%s downloads something without a checksum or a signature", name)
		}
	}
	if builds < 2 {
		t.Errorf("found %d builds of images", builds)
	}
}

// TestLockfiles checks that npm's packages have exact versions and sums, and name the public registry only.
func TestLockfiles(t *testing.T) {
	for _, dir := range []string{"image/npm", "clients/js"} {
		var wanted struct{ Dependencies, OptionalDependencies map[string]string }
		var lock struct {
			Packages map[string]struct {
				Version, Resolved, Integrity string
				InBundle                     bool
			}
		}
		for name, into := range map[string]any{"package.json": &wanted, "package-lock.json": &lock} {
			data, err := os.ReadFile(filepath.Join("../../deploy", dir, name))
			if err == nil {
				err = json.Unmarshal(data, into)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, list := range []map[string]string{wanted.Dependencies, wanted.OptionalDependencies} {
			for name, version := range list {
				if got := lock.Packages["node_modules/"+name].Version; got != version {
					t.Errorf("%s: %s is %s in package.json and %s in the lockfile", dir, name, version, got)
				}
			}
		}
		files := map[string]bool{}
		for name, p := range lock.Packages {
			if name == "" || p.InBundle {
				continue // part of another package's archive
			}
			if !regexp.MustCompile(`^sha512-[A-Za-z0-9+/]{86}==$`).MatchString(p.Integrity) {
				t.Errorf("%s: %s has the integrity %q", dir, name, p.Integrity)
			}
			if !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") && (p.Resolved != "" || dir == "image/npm") {
				t.Errorf("%s: %s comes from %q", dir, name, p.Resolved)
			}
			file := path.Base(p.Resolved)
			if files[file] && dir == "image/npm" {
				t.Errorf("%s: there are two %s", dir, file)
			}
			files[file] = true
		}
	}
}

// TestToolchain checks that everything is built with the same standard library, and that its checksum is known.
func TestToolchain(t *testing.T) {
	line := regexp.MustCompile(`(?m)^toolchain go(\S+)$`)
	var want string
	for _, name := range []string{"go.mod", "deploy/homeserver/go.mod", "deploy/kube-test/controller/go.mod", "deploy/kube-test/gvisor/go.mod", "deploy/kube-test/kube/go.mod", "deploy/tools/go.mod"} {
		text, err := os.ReadFile("../../" + name)
		found := line.FindSubmatch(text)
		if err != nil || found == nil {
			t.Fatalf("%s has no toolchain: %v", name, err)
		}
		if want == "" {
			want = string(found[1])
		}
		if string(found[1]) != want {
			t.Errorf("%s has the toolchain %s, not %s", name, found[1], want)
		}
	}
	sums, err := os.ReadFile("../../deploy/toolchain.sum")
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, file := range []string{"", "/go.mod"} {
			if !strings.Contains(string(sums), "golang.org/toolchain v0.0.1-go"+want+".linux-"+arch+file+" h1:") {
				t.Errorf("toolchain.sum does not have %s%s for %s", want, file, arch)
			}
		}
	}
}

// TestUseGo checks which compiler the scripts use for the toolchain 1.26.11.
func TestUseGo(t *testing.T) {
	for name, c := range map[string]struct{ installed, own, want string }{
		"newer":            {"1.27.1", "", "installed "},
		"same":             {"1.26.11", "", "installed "},
		"older":            {"1.26.8", "", "installed go1.26.11"},
		"too old":          {"1.19.8", "1.26.11", "own "},
		"older of our own": {"1.19.8", "1.26.0", "none"},
	} {
		out, errs, ok := bash(t, `. "$deploy/lib.sh"; unset GOTOOLCHAIN
go() { mkdir -p "$1"; printf '#!/bin/sh\necho go%s\n' "$2" >"$1/go"; chmod +x "$1/go"; }
go "$PWD/installed" "$installed"; [ -z "$own" ] || go "$CACHE/go/bin" "$own"; unset -f go
PATH=$PWD/installed:$PATH
use_go 1.26.11 || { echo none; exit; }
case $(command -v go) in "$PWD/installed/go") echo "installed ${GOTOOLCHAIN:-}" ;; "$CACHE/go/bin/go") echo "own ${GOTOOLCHAIN:-}" ;; *) echo none ;; esac`,
			"installed="+c.installed, "own="+c.own)
		if !ok || strings.TrimSuffix(out, "\n") != c.want {
			t.Errorf("%s: %q, not %q; %s", name, out, c.want, errs)
		}
	}
}

// TestBotHasGo checks when the installer replaces the compiler of the bot's updates.
func TestBotHasGo(t *testing.T) {
	for have, want := range map[string]string{"": "no", "go1.26.0": "no", "go1.26.9": "no", "go1.26.11": "yes", "go1.27.0": "yes"} {
		out, errs, ok := bash(t, parts+`HOME_DIR=$PWD; [ -z "$have" ] || { mkdir -p cache/go; printf '%s\ntime 2026\n' "$have" >cache/go/VERSION; }
if bot_has_go 1.26.11; then echo yes; else echo no; fi; [ -n "$(wanted_go)" ]`, "have="+have)
		if !ok || out != want+"\n" {
			t.Errorf("%q: %q, not %q; %s", have, out, want, errs)
		}
	}
}
