package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// Restrictions that the CLI puts on unattended agents are lifted in a container: build files, dependencies and .env are
// ordinary files, a command may contain another, and git knows the author.
func TestRealUnhindered(t *testing.T) {
	r := newReal(t)
	r.sh(t, `mkdir -p /workspace/node_modules/dep /workspace/repo && cd /workspace && echo 'the dependency' > node_modules/dep/index.js && echo 'all:' > Makefile
		git init -q repo && git config --global user.name Alice`)
	r.answer(t, `
rules:
  - when: 'begin'
    call:
      - {name: write_file, args: {file_path: go.mod, content: "module x\n"}}
      - {name: write_file, args: {file_path: /workspace/package.json, content: "{}\n"}}
      - {name: write_file, args: {file_path: Dockerfile.dev, content: "FROM x\n"}}
      - {name: write_file, args: {file_path: .env, content: "PORT=1\n"}}
      - {name: replace, args: {file_path: Makefile, old_string: "all:", new_string: "every:", instruction: rename}}
      - {name: read_file, args: {file_path: node_modules/dep/index.js}}
      - {name: run_shell_command, args: {command: 'echo "$(echo dol)lar" `+"`echo back`"+`tick > substituted; cat <(echo process) >> substituted'}}
      - {name: run_shell_command, args: {command: 'cat index.js > ../../copied', dir_path: node_modules/dep}}
      - {name: run_shell_command, args: {command: 'git commit -q --allow-empty -m one && git log --format="%an %ae %s" > ../committed', dir_path: repo}}
      - {name: web_fetch, args: {prompt: 'sum up https://example.com/'}}
  - {tool: 'run_shell_command', say: 'Done.'}
`)
	o, events := r.do(t, Task{Prompt: "begin", Approvals: defaults})
	if o.Ended != Completed || o.Text != "Done." {
		t.Errorf("%+v", o)
	}
	for _, e := range events {
		if e.Kind == EventToolResult && e.Failed {
			t.Errorf("failed: %s", e.Detail)
		}
	}
	want := "module x\n{}\nFROM x\nPORT=1\nevery:\ndollar backtick\nprocess\nthe dependency\nAlice agent@localhost one\n"
	got := r.sh(t, "cd /workspace; cat go.mod package.json Dockerfile.dev .env Makefile substituted copied committed")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	asked := r.questions(0)
	if len(asked) != 2 {
		t.Fatalf("the model received %d requests, want 2", len(asked))
	}
	for _, want := range []string{`read_file {"output":"the dependency`, `web_fetch {"output":"<untrusted_context>\nscripted answer`} {
		if !strings.Contains(asked[1].Text, want) {
			t.Errorf("the model was not told %s", want)
		}
	}
}

// The script that prepares the CLI for the image changes only what has the known form, and fails if a function is missing.
func TestRealPrepare(t *testing.T) {
	r := newReal(t)
	put := func(path, text string) {
		t.Helper()
		res, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", `mkdir -p "${1%/*}" && cat > "$1"`, "sh", path}, Stdin: strings.NewReader(text)})
		if err != nil || res.Code != 0 {
			t.Fatal(err, string(res.Stderr))
		}
	}
	script, err := os.ReadFile("../deploy/image/prepare.cjs")
	if err != nil {
		t.Fatal(err)
	}
	put("/tmp/prepare.cjs", string(script))
	const toESM = "var __toESM = (m) => m;\n"
	const commonJS = "var __commonJS = (m) => { let x; return () => { if (!x) { x = { exports: {} }; Object.values(m)[0](x.exports, x); } return x.exports; }; };\n" +
		"var require_a = __commonJS({\n  \"node_modules/a/index.js\"(exports, module) {\n    module.exports = { a: 1 };\n  }\n});\n"
	all := "function detectCommandSubstitution(a) {\n  return 1;\n}\nfunction hasBlockedPathSegment() {\n}\nfunction isBuildFile($, _2) {\n}\nfunction isPrivateIp(a) {\n}\nasync function readStdin() {\n  const pipedInputShouldBeAvailableInMs = 500;\n  return pipedInputShouldBeAvailableInMs;\n}\n" +
		toESM + "var require_z = () => 1;\nvar import_z = __toESM(require_z(), 1);\n" + commonJS
	put("/tmp/some/package.json", `{"type":"module"}`)
	put("/tmp/some/all.js", all)
	for _, c := range []struct{ name, text, want, kept string }{
		{"two", "async function isPrivateIp(url) {\n  return true;\n}\nfunction hasBlockedPathSegment(p) {\n  return true;\n}\nconsole.log(await isPrivateIp('x'), hasBlockedPathSegment('x'))", "false false", ""},
		{"the wait for input", "const pipedInputShouldBeAvailableInMs = 500;\nconsole.log(pipedInputShouldBeAvailableInMs)", "2147483647", ""},
		{"a default with braces", "function isBuildFile(a = (() => {\n  return 1;\n})()) {\n  return a;\n}\nconsole.log(isBuildFile())", "1", "same"},
		{"parts of an argument", "function isBuildFile({ path }) {\n  return path;\n}\nconsole.log(isBuildFile({ path: 1 }))", "1", "same"},
		{"minified", "function isBuildFile(a){return 1}console.log(isBuildFile())", "1", "same"},
		{"none", "console.log(1)", "1", "same"},
		{"characters", "// é\nconst ü = ['ä', `→${1}`, /[✅😀]/u.test('😀'), '😀'.length];\nconsole.log(...ü, 'ä→'.length)", "ä →1 true 2 2", `\u00e4`},
		{"a backslash before a character", `console.log("\→", /\→/.test("→"))`, "→ true", "same"},
		{"raw text", "console.log(String.raw`a→`)", "a→", "same"},
		{"an import of a CommonJS module", toESM + "var require_a = () => (console.log('loaded'), { a: 1, f: () => 2 });\nvar import_a = __toESM(require_a(), 1);\n" +
			"console.log('begin');\nconsole.log(import_a.a, (0, import_a.f)(), 'a' in import_a, 'b' in import_a, { ...import_a }.a, Object.keys(import_a).length);",
			"begin\nloaded\n1 2 true false 1 2", "var import_a = __lazily(() => __toESM(require_a(), 1));"},
		{"a CommonJS module", commonJS + "console.log(require_a().a)", "1", `"node_modules/a/index.js": (function(exports, module) {`},
	} {
		t.Run(c.name, func(t *testing.T) {
			put("/tmp/some/x.js", c.text)
			if got := r.sh(t, "node /tmp/prepare.cjs /tmp/some && node /tmp/some/x.js"); got != c.want+"\n" {
				t.Errorf("it prints %q, want %q", got, c.want)
			}
			now := r.sh(t, "cat /tmp/some/x.js")
			if c.kept == "same" && now != c.text {
				t.Errorf("changed to %q", now)
			}
			if !strings.Contains(now, strings.TrimPrefix(c.kept, "same")) {
				t.Errorf("%q is not in %q", c.kept, now)
			}
		})
	}
	r.sh(t, "mkdir /tmp/other && head -n 5 /tmp/some/all.js > /tmp/other/a.js")
	if said := r.sh(t, "node /tmp/prepare.cjs /tmp/other 2>&1 || echo code $?"); !strings.Contains(said, "the CLI has no isBuildFile, isPrivateIp, readStdin, import, __commonJS in the known form") || !strings.HasSuffix(said, "code 1\n") {
		t.Errorf("functions are missing: %s", said)
	}
}
