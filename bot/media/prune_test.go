package media

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// tick is a command that ends when the next file created is younger than all others: file systems date files by the
// tick of a clock.
const tick = "tick() { touch /tmp/a; until touch /tmp/b; [ /tmp/b -nt /tmp/a ]; do :; done; }; "

// TestPrune uses limits of its own.
func TestPrune(t *testing.T) {
	container := realContainer(t)
	prune := func(t *testing.T, files, bytes int, keep string) {
		t.Helper()
		result, err := container.Exec(t.Context(), sandbox.Cmd{
			Argv: []string{"/bin/sh", "-c", pruneScript + `cd /workspace/outbox && prune "$@"`, "prune", strconv.Itoa(files), strconv.Itoa(bytes), keep},
		})
		if err != nil || result.Code != 0 {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	check := func(t *testing.T, want string) {
		t.Helper()
		if diff := cmp.Diff(want, sh(t, container, "ls -A | tr '\\n' ' '")); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	}
	t.Run("count", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, tick+"for i in e d c b a; do echo $i > $i; tick; done; touch -d 2001-01-01 a") // a file's own timestamp is not trusted
		prune(t, 3, 1<<20, "")
		check(t, "a b c")
	})
	t.Run("size", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, tick+"mkdir d; head -c 30000 /dev/zero > d/x; tick; head -c 50000 /dev/zero > b; tick; head -c 60000 /dev/zero > a")
		prune(t, 10, 120000, "")
		check(t, "a b")
		prune(t, 10, 120000, "")
		check(t, "a b")
	})
	t.Run("kept", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, tick+"for i in old1 old2 mid new; do head -c 50000 /dev/zero > $i; tick; done")
		prune(t, 2, 100000, sh(t, container, "stat -c %i old1 new | tr '\\n' ' '"))
		check(t, "new old1")
		prune(t, 0, 0, sh(t, container, "stat -c %i old1"))
		check(t, "old1")
	})
	t.Run("odd names, links and pipes", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `mkdir ../precious; echo x > ../precious/y; ln -s ../precious link; ln -s /workspace dirs; mkfifo pipe; printf x > -rf
printf x > $'a\nb 1 2 3'; printf x > '$(reboot)'; printf x > '*'; printf x > $'\xff'; mkdir -p deep/er; ln -s /workspace/precious deep/er/l; ln ../precious/y hard; `+tick+`tick; echo > z`)
		prune(t, 1, 1<<20, "")
		check(t, "z")
		if got := sh(t, container, "cat ../precious/y"); got != "x" {
			t.Errorf("the links' targets contain %q", got)
		}
	})
	t.Run("very many", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, "seq 2500 | xargs touch; mkdir tree; (cd tree; seq 100 | xargs touch); "+tick+"tick; echo > last")
		prune(t, 5, 1<<30, "")
		if got := sh(t, container, "ls -A | wc -l; ls last"); got != "502\nlast" { // 2,000 are removed at once
			t.Errorf("left %q", got)
		}
		prune(t, 5, 1<<30, "")
		if got := sh(t, container, "ls -A | wc -l; ls last"); got != "5\nlast" {
			t.Errorf("left %q", got)
		}
	})
}

// TestFullInbox: the oldest files are removed for a new one, but none that must be kept.
func TestFullInbox(t *testing.T) {
	container := realContainer(t)
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Fetched{Path: path, Size: 3}
	deliver := func(name string, keep ...string) {
		t.Helper()
		if _, err := Deliver(t.Context(), container, name, anEvent, f, keep); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, container, tick+"mkdir ../inbox; cd ../inbox; for i in $(seq 300); do echo $i > f$i; case $i in 289) tick ;; 103|290) truncate -s 200M f290; tick ;; esac; done")
	deliver("new", "f1", "f7", "f9999")
	if got := sh(t, container, "cd ../inbox; ls | wc -l; ls f1 f7 f300 new; ls f102 f103 f104 2>/dev/null || cat new"); got != "200\nf1\nf300\nf7\nnew\nf104\nnew" {
		t.Errorf("in the inbox: %q", got)
	}
	sh(t, container, "cd ../inbox; truncate -s 400M f200")
	deliver("newer", "f1")
	if got := sh(t, container, "cd ../inbox; ls | wc -l; ls f1 new newer f200 f291; ls f7 f290 2>/dev/null || echo gone"); got != "14\nf1\nf200\nf291\nnew\nnewer\ngone" {
		t.Errorf("in the inbox: %q", got)
	}
	// An inbox that is a link is left alone.
	sh(t, container, "rm -rf ../inbox; mkdir ../work; for i in $(seq 300); do echo > ../work/$i; done; ln -s work ../inbox")
	_, err := Deliver(t.Context(), container, "third", anEvent, f, nil)
	if got := sh(t, container, "cd ../work; ls | wc -l"); got != "300" && got != "301" {
		t.Errorf("in the folder behind a link %s are left; %v", got, err)
	}
}

// TestSentIsBounded: of the sent files the oldest are removed; those just sent, and those still to be sent, are kept.
func TestSentIsBounded(t *testing.T) {
	container := realContainer(t)
	sh(t, container, "mkdir sent refused; (cd sent; for i in $(seq 300); do echo $i > f$i; done; "+tick+"tick; echo > f300); (cd refused; seq 300 | xargs touch); ln -s /etc/hosts link; for i in 1 2 3 4; do echo $i > n$i; done")
	b := gather(t, container, Limits{Items: 3})
	if err := MarkSent(t.Context(), container, b); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, container, "ls; ls sent | wc -l; ls refused | wc -l; ls sent/n* refused/link sent/f300"); got != "n4\nrefused\nsent\n200\n200\nrefused/link\nsent/f300\nsent/n1\nsent/n2\nsent/n3" {
		t.Errorf("left: %q", got)
	}
}

// TestSentWhileAway: a file that could not be moved after sending is recognised, a rewritten one is new.
func TestSentWhileAway(t *testing.T) {
	container := realContainer(t)
	sh(t, container, "echo x > a; mkdir d; echo x > d/x; echo x > b")
	first := gather(t, container, Limits{})
	away := containerFunc(func(context.Context, sandbox.Cmd) (sandbox.Result, error) {
		return sandbox.Result{}, sandbox.ErrUnreachable
	})
	if err := MarkSent(t.Context(), away, first); err == nil {
		t.Fatal("no error")
	}
	sh(t, container, "mv b ..; mv ../b b")
	second := gather(t, container, Limits{})
	var same []bool
	for i := range first.Items {
		same = append(same, first.Items[i].Key == second.Items[i].Key)
	}
	if diff := cmp.Diff([]bool{true, false, true}, same); diff != "" {
		t.Errorf("known again a, b, d (-want +got):\n%s", diff)
	}
	if err := MarkSent(t.Context(), container, second); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "cp -p sent/a a; mv sent/d d")
	for i, item := range gather(t, container, Limits{}).Items {
		if item.Key == second.Items[2*i].Key {
			t.Errorf("%s, put there again, counts as the old one", item.Name)
		}
	}
}
