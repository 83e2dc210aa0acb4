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
	r.recipe(t, "prepare.cjs")
	const toESM = "var __toESM = (m) => m;\n"
	const commonJS = "var __commonJS = (m) => { let x; return () => { if (!x) { x = { exports: {} }; Object.values(m)[0](x.exports, x); } return x.exports; }; };\n" +
		"var require_a = __commonJS({\n  \"node_modules/a/index.js\"(exports, module) {\n    module.exports = { a: 1 };\n  }\n});\n"
	all := "function detectCommandSubstitution(a) {\n  return 1;\n}\nfunction hasBlockedPathSegment() {\n}\nfunction isBuildFile($, _2) {\n}\nfunction isPrivateIp(a) {\n}\nasync function readStdin() {\n  const pipedInputShouldBeAvailableInMs = 500;\n  return pipedInputShouldBeAvailableInMs;\n}\n" +
		toESM + "var require_z = () => 1;\nvar import_z = __toESM(require_z(), 1);\n" + commonJS +
		"var wrapAssembly = (y) => y;\nvar load = async () => 1;\nvar Yoga = wrapAssembly(await load());\nasync function resolveWorktreeSettings(cwd) {\n}\n" +
		"var import_opentelemetry_z = {};\nvar ZExporter = class extends import_opentelemetry_z.Z {\n};\nvar { Terminal } = import_z.default;\n"
	r.put(t, "/tmp/some/package.json", `{"type":"module"}`)
	r.put(t, "/tmp/some/all.js", all)
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
		{"a class that extends one", toESM + "class A {\n  constructor(x) { this.x = x; }\n  get twice() { return 2 * this.x; }\n  static seven() { return 7; }\n}\n" +
			"var require_a = () => (console.log('loaded'), { A });\nvar import_opentelemetry_a = __toESM(require_a(), 1);\n" +
			"var AExporter = class extends import_opentelemetry_a.A {\n  constructor() {\n    super(2);\n  }\n};\n" +
			"console.log('begin');\nconst a = new AExporter();\nconsole.log(a.x, a.twice, a instanceof AExporter, a instanceof A, AExporter.seven());",
			"begin\nloaded\n2 4 true true 7", "var AExporter = class extends __standIn(() => import_opentelemetry_a.A) {"},
		{"another class that extends one", toESM + "var require_a = () => ({ A: class {} });\nvar import_a = __toESM(require_a(), 1);\nvar App = class extends import_a.A {\n};\nconsole.log(new App() instanceof import_a.A);",
			"true", "var App = class extends import_a.A {"},
		{"the terminal", toESM + "var require_a = () => (console.log('loaded'), { default: { Terminal: class { constructor(x) { this.x = x; } } } });\nvar import_a = __toESM(require_a(), 1);\n" +
			"var { Terminal } = import_a.default;\nconsole.log('begin');\nconsole.log(new Terminal(3).x, new Terminal(4) instanceof Terminal);", "begin\nloaded\n3 true", ""},
		{"the layout engine", "var wrapAssembly = (y) => y;\nvar load = async () => console.log('loaded');\nvar Yoga = wrapAssembly(await load());\nconsole.log('begin');", "begin", ""},
		{"worktrees", "async function resolveWorktreeSettings(cwd) {\n  return 1;\n}\nconsole.log(await resolveWorktreeSettings('/'));", "undefined", ""},
		{"a CommonJS module", commonJS + "console.log(require_a().a)", "1", `"node_modules/a/index.js": (function(exports, module) {`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.put(t, "/tmp/some/x.js", c.text)
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
	if said := r.sh(t, "node /tmp/prepare.cjs /tmp/other 2>&1 || echo code $?"); !strings.Contains(said, "the CLI has no isBuildFile, isPrivateIp, readStdin, Yoga, resolveWorktreeSettings, import, extends, Terminal, __commonJS in the known form") || !strings.HasSuffix(said, "code 1\n") {
		t.Errorf("functions are missing: %s", said)
	}
}

// put writes a file of the container.
func (r *real) put(t *testing.T, path, text string) {
	t.Helper()
	res, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", `mkdir -p "${1%/*}" && cat > "$1"`, "sh", path}, Stdin: strings.NewReader(text)})
	if err != nil || res.Code != 0 {
		t.Fatal(err, string(res.Stderr))
	}
}

// recipe copies a script of the image's recipe to /tmp in the container.
func (r *real) recipe(t *testing.T, name string) {
	t.Helper()
	script, err := os.ReadFile("../deploy/image/" + name)
	if err != nil {
		t.Fatal(err)
	}
	r.put(t, "/tmp/"+name, string(script))
}

// What a task does not use moves out of a module, and can be used all the same.
func TestRealMove(t *testing.T) {
	r := newReal(t)
	r.recipe(t, "move.cjs")
	module := func(name, text string) string {
		return "var require_" + name + " = __commonJS({\n  \"node_modules/" + name + "/index.js\": (function(exports, module) {\n    module.exports = " + text + ";\n  })\n});\n"
	}
	r.put(t, "/tmp/cli/package.json", `{"type":"module"}`)
	r.put(t, "/tmp/cli/gemini.js", "import { used, unused } from './chunk.js';\nconsole.log(process.env.MORE ? unused() : used());\n")
	r.put(t, "/tmp/cli/chunk.js", "var __commonJS = (m) => { let x; return () => { if (!x) { x = { exports: {} }; Object.values(m)[0](x.exports, x); } return x.exports; }; };\n"+
		"const here = 'ü';\n"+module("used", "'used'")+module("small", "'small'")+module("unused", "[here, require_small(), '"+strings.Repeat("long ", 30_000)+"'].map((s) => s.length)")+
		"export const used = () => require_used();\nexport const unused = () => require_unused();\n")
	const move = "rm -rf /tmp/coverage; NODE_V8_COVERAGE=/tmp/coverage node /tmp/cli/gemini.js >/dev/null && node /tmp/move.cjs /tmp/cli /tmp/coverage"
	if said := r.sh(t, move); !strings.HasPrefix(said, "chunk.js: 2 modules with 150") {
		t.Errorf("it says %q", said)
	}
	if got := r.sh(t, "cd /tmp/cli && node gemini.js && MORE=1 node gemini.js"); got != "used\n[ 1, 5, 150000 ]\n" {
		t.Errorf("the module prints %q", got)
	}
	if now := r.sh(t, "cat /tmp/cli/chunk.js"); !strings.Contains(now, "= 'used'") || strings.Contains(now, "'small'") || strings.Contains(now, "long long") {
		t.Errorf("the module is %.2000q", now)
	}
	// Nothing that could move is a sign of another form.
	r.sh(t, "cd /tmp/cli && rm chunk.js.moved && echo 'export const used = () => 1, unused = 1;' > chunk.js")
	if said := r.sh(t, move+" 2>&1 || echo code $?"); !strings.Contains(said, "no modules in the known form") || !strings.HasSuffix(said, "code 1\n") {
		t.Errorf("nothing moves: %s", said)
	}
}
