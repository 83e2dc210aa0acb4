package media

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// TestOutbox uses one container for all steps.
func TestOutbox(t *testing.T) {
	container := realContainer(t)
	t.Run("none", func(t *testing.T) {
		if b := gather(t, container, Limits{}); len(b.Items)+len(b.Refused) > 0 {
			t.Errorf("from a container without outbox came %+v", b)
		}
	})
	t.Run("files", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `printf 'a,b\n1,2\n' > data.csv; head -c 9000000 /dev/urandom > big.bin; printf x > $'two\nlines 81a4.txt'
printf y > $'\u202egnp.exe'; printf z > $'\xff\xfe'; printf w > -rf; mkdir sent; printf old > sent/data.csv`)
		b := gather(t, container, Limits{})
		items, refused := brief(b)
		want := []string{"rf", "big.bin", "data.csv", "two_lines_81a4.txt", "gnp.exe", "file"}
		if diff := cmp.Diff(want, items); diff != "" || len(refused) > 0 {
			t.Errorf("collected (-want +got):\n%s, refused %v", diff, refused)
		}
		if i := b.Items[2]; i.Type != "text/csv" || bytesOf(t, i) != "a,b\n1,2\n" {
			t.Errorf("data.csv is %+v", i)
		}
		sum := sh(t, container, "sha256sum < big.bin | cut -c1-64")
		if got := hashOf(bytesOf(t, b.Items[1])); got != sum || b.Items[1].Size != 9000000 {
			t.Errorf("big.bin has hash %s, want %s", got, sum)
		}
		again := gather(t, container, Limits{})
		for n := range again.Items {
			if again.Items[n].Key != b.Items[n].Key {
				t.Errorf("%s got another key", again.Items[n].Name)
			}
		}
		sh(t, container, "echo more >> -rf") // this change must not be missed
		for range 2 {
			if err := MarkSent(t.Context(), container, b); err != nil {
				t.Fatal(err)
			}
		}
		if got := sh(t, container, "ls -A"); got != "-rf\nsent" {
			t.Errorf("in the outbox is left %q", got)
		}
		if got := sh(t, container, "cat sent/data.csv sent/2-data.csv; find sent -mindepth 1 -printf x"); got != "olda,b\n1,2\nxxxxxx" {
			t.Errorf("in outbox/sent is %q", got)
		}
		if next := gather(t, container, Limits{}); len(next.Items) != 1 || bytesOf(t, next.Items[0]) != "wmore\n" {
			t.Errorf("the changed file was not collected again: %+v", next)
		}
	})
	t.Run("no files", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `echo secret > ../secret; ln -s ../secret link; ln ../secret hard; mkfifo pipe; ln -s /root dirlink; : > empty; mkdir nothing
truncate -s 1T sparse; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'; mkdir only; ln -s /etc/passwd only/p; mkfifo only/f; ln -s /dev/zero zero`)
		b := gather(t, container, Limits{})
		items, refused := brief(b)
		want := map[string]string{
			"link": "is a symbolic link; copy the file to send it", "dirlink": "is a symbolic link; copy the file to send it",
			"zero": "is a symbolic link; copy the file to send it",
			"hard": "is a hard link; copy the file to send it",
			"pipe": "is not a regular file", "socket": "is not a regular file", "empty": "is empty",
			"nothing": "contains no file that can be sent", "only": "contains no file that can be sent",
			"sparse": "is 1 TB; I send up to 50 MB",
		}
		if diff := cmp.Diff(want, refused); diff != "" || len(items) > 0 {
			t.Errorf("refused (-want +got):\n%s, collected %v", diff, items)
		}
		if err := MarkSent(t.Context(), container, b); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, container, "ls -A; ls -A refused | wc -l; cat ../secret"); got != "refused\n10\nsecret" {
			t.Errorf("after it is moved: %q", got)
		}
		if b := gather(t, container, Limits{}); len(b.Refused) > 0 {
			t.Errorf("refused a second time: %v", b.Refused)
		}
	})
	t.Run("folder", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `mkdir -p 'my site/a/b' 'my site/hollow'; cd 'my site'; echo run > a/run.sh; chmod +x a/run.sh; echo deep > a/b/.hidden; : > a/b/empty
ln -s /etc/passwd a/passwd; mkfifo a/pipe; echo x > $'a/\u202etxt.exe'; head -c 5000000 /dev/zero > zeros; echo y > 'a/..\..\x'`)
		b := gather(t, container, Limits{})
		if len(b.Items) != 1 || b.Items[0].Name != "my_site.tar.gz" || b.Items[0].Type != "application/gzip" {
			t.Fatalf("collected %+v, %v", b.Items, b.Refused)
		}
		got := archive(t, b.Items[0])
		if len(got["my_site/zeros"]) != 5000000 {
			t.Error("zeros did not come whole")
		}
		delete(got, "my_site/zeros")
		want := map[string]string{"my_site/a/": "", "my_site/a/b/": "", "my_site/hollow/": "", "my_site/a/run.sh": "run\n",
			"my_site/a/b/.hidden": "deep\n", "my_site/a/b/empty": "", "my_site/a/\u202etxt.exe": "x\n", `my_site/a/..\..\x`: "y\n"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the archive holds (-want +got):\n%s", diff)
		}
		if err := MarkSent(t.Context(), container, b); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, container, "ls -A; ls -A sent"); got != "sent\nmy site" {
			t.Errorf("after it is moved: %q", got)
		}
	})
	t.Run("folders that are too much", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `mkdir many big; (cd many; seq 31 | xargs touch); truncate -s 30M big/a big/b
d=deep; for i in $(seq 20); do d=$d/x; done; mkdir -p $d; echo x > $d/file`)
		b := gather(t, container, Limits{Files: 30})
		items, refused := brief(b)
		want := map[string]string{
			"many": "contains more than the 30 files that I pack. Create an archive yourself",
			"big":  "is larger than the 50 MB that I send", "deep": "is nested more than 16 folders deep",
		}
		if diff := cmp.Diff(want, refused); diff != "" || len(items) > 0 {
			t.Errorf("refused (-want +got):\n%s, collected %v", diff, items)
		}
		if err := MarkSent(t.Context(), container, b); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, container, "ls -A"); got != "refused" {
			t.Errorf("after it is moved: %q", got)
		}
	})
	t.Run("more files than a listing holds", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `for i in $(seq 1200); do printf -v name %0200d $i; echo x > $name; done`)
		for range 2 {
			b := gather(t, container, Limits{Items: 3})
			if len(b.Items) != 3 || len(b.Refused) != 1 || !strings.HasPrefix(b.Refused[0].Why, rest) {
				t.Errorf("collected %d, refused %v", len(b.Items), b.Refused)
			}
			if err := MarkSent(t.Context(), container, b); err != nil {
				t.Fatal(err)
			}
		}
		if got := sh(t, container, "ls | wc -l; ls sent | wc -l"); got != "1195\n6" {
			t.Errorf("left and sent: %q", got)
		}
		sh(t, container, "mkdir many; mv 0* many")
		_, refused := brief(gather(t, container, Limits{}))
		if diff := cmp.Diff(map[string]string{"many": "contains more than the 1000 files that I pack. Create an archive yourself"}, refused); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	})
	t.Run("total", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `for i in a b c; do head -c 3000 /dev/zero > $i; done; echo x > d`)
		b := gather(t, container, Limits{Total: 7000, Item: 4000})
		items, refused := brief(b)
		if diff := cmp.Diff([]string{"a", "b", "d"}, items); diff != "" || !strings.Contains(refused["c"], "stays in the outbox") {
			t.Errorf("collected (-want +got):\n%s, refused %v", diff, refused)
		}
	})
	t.Run("grows while it is read", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `head -c 20000000 /dev/zero > log; echo x > calm; (while :; do echo x >> log; done) >/dev/null 2>&1 </dev/null & echo $! > ../grower`)
		b := gather(t, container, Limits{})
		sh(t, container, "p=$(cat ../grower); kill $p; while kill -0 $p 2>/dev/null; do sleep 0.01; done; rm log")
		items, refused := brief(b)
		if diff := cmp.Diff([]string{"calm"}, items); diff != "" || refused["log"] != errChanged.why {
			t.Errorf("collected (-want +got):\n%s, refused %v", diff, refused)
		}
	})
	t.Run("outbox is a link", func(t *testing.T) {
		sh(t, container, "cd ..; rm -rf outbox; ln -s /etc outbox")
		b := gather(t, container, Limits{})
		sh(t, container, "cd ..; rm outbox")
		if len(b.Items) > 0 || len(b.Refused) != 1 {
			t.Errorf("collected %v, refused %v", b.Items, b.Refused)
		}
	})
	t.Run("sent is a link", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, "mkdir /tmp/x; ln -s /tmp/x sent; echo x > a")
		if err := MarkSent(t.Context(), container, gather(t, container, Limits{})); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, container, "cat sent/a; ls /tmp/x"); got != "x" {
			t.Errorf("after it is moved: %q", got)
		}
	})
	t.Run("the container lies", func(t *testing.T) {
		fresh(t, container)
		sh(t, container, `echo x > a; printf '#!/bin/bash\nexec yes //81a4 1 5 1:1 5 y//./a\n' > /usr/local/bin/find; chmod +x /usr/local/bin/find`)
		b := gather(t, container, Limits{Items: 2})
		sh(t, container, `rm /usr/local/bin/find`)
		if len(b.Items) > 0 {
			t.Errorf("collected %v", b.Items)
		}
		sh(t, container, `printf '#!/bin/bash\nexec cat /dev/zero\n' > /usr/local/bin/stat; chmod +x /usr/local/bin/stat`)
		b = gather(t, container, Limits{})
		sh(t, container, `rm /usr/local/bin/stat`)
		if len(b.Items) > 0 {
			t.Errorf("collected %v", b.Items)
		}
	})
}

// TestCollectEnds: a caller who cancels gets an error, and no file is left behind.
func TestCollectEnds(t *testing.T) {
	container := realContainer(t)
	sh(t, container, "head -c 1000 /dev/zero > a")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	b, err := Collect(ctx, containerFunc(func(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
		if n++; n == 2 {
			cancel()
		}
		return container.Exec(ctx, cmd)
	}), Limits{Dir: dir})
	if !errors.Is(err, context.Canceled) || b != nil {
		t.Errorf("got %v, %v", b, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// TestPipeInItsPlace: a file that is replaced by a pipe after the listing blocks nobody.
func TestPipeInItsPlace(t *testing.T) {
	container := realContainer(t)
	sh(t, container, "echo x > a; echo y > b")
	n := 0
	begun := time.Now()
	b := gather(t, containerFunc(func(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
		if n++; n == 2 {
			sh(t, container, "rm a; mkfifo a")
		}
		return container.Exec(ctx, cmd)
	}), Limits{})
	items, refused := brief(b)
	if diff := cmp.Diff([]string{"b"}, items); diff != "" || refused["a"] != errChanged.why || time.Since(begun) > readTimeout {
		t.Errorf("collected (-want +got):\n%s, refused %v", diff, refused)
	}
}

// containerFunc runs a function on every use of a container.
type containerFunc func(context.Context, sandbox.Cmd) (sandbox.Result, error)

func (f containerFunc) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	return f(ctx, cmd)
}
