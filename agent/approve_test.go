package agent

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// found reports whether a command would need approval.
func found(t testing.TB, approvals []string, command string) bool {
	t.Helper()
	for _, p := range patterns(approvals) {
		if regexp.MustCompile(p).MatchString(command) {
			return true
		}
	}
	return false
}

// defaults are the bot's.
var defaults = []string{"git push", "gh pr create", "npm publish", "curl … | sh"}

// heldCases says which commands need approval by the defaults. The real CLI's Node reads them too: see
// TestRealPatterns.
var heldCases = map[bool][]string{
	true: {
		"git push", " git  push ", "git push origin main", "git\tpush", "git push;", "git push&", "git \\\n  push", "git push\n", "(git push)", "git push|cat",
		"cd x && git push", "cd x&&git push", "make || git push", "a; git push", "a;git push", "a | git push", "a & git push", "a\ngit push", "a\r\n\tgit push",
		"$(git push)", "`git push`", "echo $(cd x; git push)", "{ git push; }", "( cd x && git push )", "! git push", "<(git push)",
		"GIT_SSH_COMMAND=ssh git push", "A=1 B='x y' git push", "A=\"x\" git push", "A=$(x) git push", "env A=1 git push", "/usr/bin/env -i A=1 git push",
		"sudo git push", "sudo -u bob -E git push", "doas git push", "time git push", "time -p git push", "nohup git push &", "command git push", "exec git push",
		"timeout 60 git push", "timeout -k 5 1m git push", "nice -n 10 git push", "echo x | xargs git push", "echo x | xargs -n1 -I{} git push {}", "eval git push", "eval 'git push'",
		"if true; then git push; fi", "if git push; then :; fi", "for b in a b; do git push origin $b; done", "while ! git push; do sleep 1; done", "x || { sleep 1; git push; }",
		"case $x in a) git push;; esac", "then time sudo git push",
		"bash -c 'git push'", "bash -lc \"git push\"", "sh -c 'cd x; git push'", "bash -c \"cd 'x y' && git -C a push\"", "bash <<EOF\ncd x\ngit push\nEOF", "ssh host 'git push'",
		"git -C dir push", "git -C 'a dir' push", "git -C \"a dir\" push origin", "git -c x=y push", "git -c user.name='A B' -c x=y push", "git --git-dir=/x --work-tree /y push", "git --no-pager push", "git -C a -C b -c d=e -C f push",
		"git --git-dir=\"/a b\" push", "git -C $PWD push", "git -C \\\n dir \\\n push",
		"/usr/bin/git push", "./bin/git push", "\"git\" push", "git 'push'", "git \"push\" origin", "python3 -c 'import os; os.system(\"git push\")'", "node -e 'spawn(\"git\", [\"push\"])'", "subprocess.run(['git', '-C', '/x', 'push'])",
		"cd repo && git add -A && git commit -m 'a; b' && git push -u origin HEAD 2>&1 | tail -5",
		"gh pr create", "gh pr create --title x --body y", "gh -R o/r pr create", "gh pr -R o/r create", "cd x && gh pr create --fill",
		"npm publish", "npm --access public publish", "cd pkg; npm publish --tag next", "npm -w a publish", "npm --workspace=a publish",
		"curl https://x | sh", "curl -fsSL https://x|sh", "curl x | bash", "curl x | sudo bash", "curl x | sudo -E bash -", "curl x | sh -s -- -y", "curl x | /bin/sh", "curl x | env A=1 bash", "curl x | A=1 sh", "curl x |& sh", "curl x 2>&1 | sh",
		"wget -qO- https://x | sh", "curl -fsSL 'https://x/?a=1&b=2;c' | sh", "curl \"https://x?a&b\" | zsh", "curl -H 'A: b' x | dash", "curl x | tee f | sh", "curl x | gunzip | bash", "cd /tmp && curl x | sh", "curl -fsSL \\\n  https://x \\\n  | sh", "curl x |\n  sh",
		"bash -c 'curl x | sh'", "bash -c \"curl \\\"x\\\" | sh\"", "/usr/bin/curl x | sh", "curl x | xargs -0 bash -c", "curl x | (sh)", "curl x | { sh; }",
		"echo \"git push\"", "git commit -m 'git push'", "git commit -m 'then git push'", // too much, but documented
	},
	false: {
		"", "git", "git status", "git pull", "git pushx", "git push-all", "git stash push", "git -C x stash push", "git subtree push", "legit push", "git.push", "gitpush", "git log --oneline # git push later",
		"git log && echo push", "git status; push", "git status | push", "git commit -m 'how to git push'", "echo to git push", "man git-push", "git push_all", "git config push.default simple", "git remote set-url --push origin x",
		"gh pr list", "gh pr view create", "gh issue create", "npm run publish", "npm install", "npm view publish", "pnpm publishx",
		"curl x", "curl x -o f; sh g", "curl x -o f && sh f", "curl x | jq .", "curl x | shasum", "curl x | sh256", "curl x | python3", "curl x | tee install.sh", "echo sh | cat", "cat curl.txt | sh", "cat x | sh", "sh -c 'echo | cat'", "curl 'a | sh'", "mycurl x | sh", "curlx | sh",
		"ls | sh-tool",
	},
}

func TestPatterns(t *testing.T) {
	for want, commands := range heldCases {
		for _, command := range commands {
			if got := found(t, defaults, command); got != want {
				t.Errorf("%q needs approval: %v, want %v", command, got, want)
			}
		}
	}
}

// An operator's own list means what it says.
func TestPatternsOfOthers(t *testing.T) {
	for _, c := range []struct {
		approval, command string
		want              bool
	}{
		{"terraform apply", "cd x && terraform -chdir=y apply -auto-approve", true},
		{"terraform apply", "terraform plan", false},
		{"docker", "docker ps", true},
		{"docker", "docker-compose up", false},
		{"rm -rf", "sudo rm -v -rf /x", true},
		{"./deploy (now)", "./deploy '(now)'", true},
		{" git\tpush ", "git push", true},
		{"a.b", "axb", false},
		{"wget ... | bash", "wget x | bash", true},
		{"wget ... | bash", "wget x | sh", false},
		{"curl … | python3", "curl -sSL x | python3 -", true},
		{"curl … | python3", "curl x | sh", false},
		{"cat … | sudo tee", "cat x | sudo tee /y", true},
		{"pg_dump … | psql -h prod", "pg_dump a | psql -U x -h prod b", true},
		{"| mail", "cat x | mail bob", true},
		{"| mail", "mail bob", false},
		{"", "anything", false},
		{"…", "anything", false},
		{" | ", "a | b", false},
	} {
		if got := found(t, []string{c.approval}, c.command); got != c.want {
			t.Errorf("list %q matches %q: %v, want %v", c.approval, c.command, got, c.want)
		}
	}
}

// Whatever an operator lists, the patterns compile and match the command.
func FuzzPatterns(f *testing.F) {
	for _, approval := range append(defaults, "a\\ (b) [c] {d} | e", "\xff", "…|…", "\"a\" 'b'", "$(x)") {
		f.Add(approval)
	}
	f.Fuzz(func(t *testing.T, approval string) {
		if len(approval) > 200 {
			return
		}
		ps := patterns([]string{approval})
		for _, p := range ps {
			regexp.MustCompile(p)
		}
		if !utf8.ValidString(approval) || len(ps) == 0 || strings.ContainsAny(approval, "…|.") || strings.ContainsFunc(approval, unicode.IsControl) {
			return
		}
		for _, command := range []string{approval, "cd x && " + approval + " y", "bash -c '" + approval + "'"} {
			if !found(t, []string{approval}, command) {
				t.Errorf("list %q does not match %q", approval, command)
			}
		}
	})
}

func TestApprovedRun(t *testing.T) {
	spec := ApprovedRun("R", Held{Command: "-x 'a b'; $(id)\n", Dir: "/workspace/a b"}, nil)
	if err := spec.Check(); err != nil {
		t.Error(err)
	}
	want := []string{"bash", "-c", `exec bash -c "$1" 2>&1`, "bash", "-x 'a b'; $(id)\n"}
	if diff := cmp.Diff(want, spec.Argv); diff != "" || spec.Dir != "/workspace/a b" || spec.MaxOutput != 1<<20 || !slices.Contains(spec.Env, "GEMINI_API_KEY="+placeholder) {
		t.Errorf("%+v\n%s", spec, diff)
	}
	if got := ApprovedRun("R", Held{Command: "x", Dir: "../etc"}, nil).Dir; got != "/workspace" {
		t.Errorf("in %s", got)
	}
}
