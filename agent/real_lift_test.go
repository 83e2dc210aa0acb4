package agent

import (
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

// A CLI with other code runs unchanged.
func TestRealLiftOtherShapes(t *testing.T) {
	r := newReal(t)
	put := func(path, text string) {
		res, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", `mkdir -p "${1%/*}" && cat > "$1"`, "sh", path}, Stdin: strings.NewReader(text)})
		if err != nil || res.Code != 0 {
			t.Fatal(err, string(res.Stderr))
		}
	}
	put("/tmp/preload.cjs", string(preload(Task{})))
	put("/tmp/none.cjs", "delete require('node:module').registerHooks")
	for _, c := range []struct{ name, path, before, text, want string }{
		{"as it is", "/tmp/gemini-cli/a.mjs", "", "function isBuildFile(path) {\n  return true;\n}\nconsole.log(isBuildFile('x'))", "false"},
		{"two, one later than in the list", "/tmp/gemini-cli/b.mjs", "", "async function isPrivateIp(url) {\n  return true;\n}\nfunction hasBlockedPathSegment(p) {\n  return true;\n}\nconsole.log(await isPrivateIp('x'), hasBlockedPathSegment('x'))", "false false"},
		{"a default with braces", "/tmp/gemini-cli/c.mjs", "", "function isBuildFile(a = (() => {\n  return 1;\n})()) {\n  return a;\n}\nconsole.log(isBuildFile())", "1"},
		{"parts of an argument", "/tmp/gemini-cli/d.mjs", "", "function isBuildFile({ path }) {\n  return path;\n}\nconsole.log(isBuildFile({ path: 1 }))", "1"},
		{"minified", "/tmp/gemini-cli/e.mjs", "", "function isBuildFile(a){return 1}console.log(isBuildFile())", "1"},
		{"none", "/tmp/gemini-cli/f.mjs", "", "console.log(1)", "1"},
		{"no module", "/tmp/gemini-cli/g.cjs", "", "function isBuildFile(a) {\n  return 1;\n}\nconsole.log(isBuildFile())", "1"},
		{"not the CLI", "/tmp/other/h.mjs", "", "function isBuildFile(a) {\n  return 1;\n}\nconsole.log(isBuildFile())", "1"},
		{"a Node without hooks", "/tmp/gemini-cli/i.mjs", "--require=/tmp/none.cjs", "function isBuildFile(a) {\n  return 1;\n}\nconsole.log(isBuildFile())", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(c.path, c.text)
			if got := r.sh(t, "node "+c.before+" --require=/tmp/preload.cjs "+c.path); got != c.want+"\n" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
