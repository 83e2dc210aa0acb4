package sandboxtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"matrix-tui/sandbox"
)

// browsed: what a person browses in the workspace has any name, and no link leads out of it.
func browsed(t *testing.T, _ *Site, c *sandbox.Container) {
	Sh(t, c, `cd /workspace; mkdir -p sub/deep "$(printf 'new\nline')"; printf abc >sub/a.txt; printf x >"$(printf 'bad\377name')"
		ln -s /etc out; ln -s /etc/passwd secret; ln -s sub in; ln -s ../../../etc/passwd sub/up; mkfifo pipe; ln -s / root; printf '<b>' >'<script>'`)
	found, err := c.Look(t.Context(), "")
	if err != nil || !found.Folder {
		t.Fatalf("%+v, %v", found, err)
	}
	var names []string
	for _, e := range found.Entries {
		names = append(names, fmt.Sprintf("%q %t %t %t", e.Name, e.Folder, e.File, e.Link))
	}
	want := []string{`"in" true false true`, `"new\nline" true false false`, `"sub" true false false`, `"<script>" false true false`,
		`"bad\xffname" false true false`, `"out" false false true`, `"pipe" false false false`, `"root" false false true`, `"secret" false false true`}
	if !slices.Equal(names, want) {
		t.Errorf("%s", strings.Join(names, "\n"))
	}
	for name, content := range map[string]string{"sub/a.txt": "abc", "in/a.txt": "abc", "bad\xffname": "x"} {
		var out bytes.Buffer
		if f, err := c.Look(t.Context(), name); err != nil || !f.File || f.Size != int64(len(content)) {
			t.Errorf("%q: %+v, %v", name, f, err)
		}
		if err := c.Download(t.Context(), name, int64(len(content)), &out); err != nil || out.String() != content {
			t.Errorf("%q: %q, %v", name, out.String(), err)
		}
	}
	if err := c.Download(t.Context(), "sub/a.txt", 9, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that became shorter: %v", err)
	}
	for _, name := range []string{"secret", "out", "out/passwd", "sub/up", "root/etc/passwd", "../etc/passwd", "/etc/passwd", "pipe", "sub", "none", "new\nline"} {
		if err := c.Download(t.Context(), name, 100, io.Discard); !errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", name, err)
		}
	}
	for _, name := range []string{"out", "../etc", "/etc", "none", "root"} {
		if f, err := c.Look(t.Context(), name); !errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%q: %+v, %v, want ErrNotFound", name, f, err)
		}
	}
	if err := c.Upload(t.Context(), "in/new.txt", strings.NewReader(strings.Repeat("x", 200_000))); err != nil {
		t.Error(err)
	}
	if got := Sh(t, c, "wc -c </workspace/sub/new.txt"); got != "200000" {
		t.Errorf("it has %s bytes", got)
	}
	Sh(t, c, `mkdir "/workspace/a dir"; ln -s "a dir" /workspace/dirlink; ln -s dirlink /workspace/again`)
	for _, name := range []string{"dirlink/x", "again/y", "dirlink/in it ü"} {
		if err := c.Upload(t.Context(), name, strings.NewReader("x")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, is := range map[string]error{"sub/a.txt": sandbox.ErrFileExists, "sub": sandbox.ErrFileExists, "secret": sandbox.ErrFileExists, "none/x": sandbox.ErrNotFound} {
		if err := c.Upload(t.Context(), name, strings.NewReader("new")); !errors.Is(err, is) {
			t.Errorf("%q: %v, want %v", name, err, is)
		}
	}
	for _, name := range []string{"out/x", "../x", "/etc/x", "root/x", "sub/..", "."} {
		if err := c.Upload(t.Context(), name, strings.NewReader("new")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("the browser is gone")))
	if err := c.Upload(t.Context(), "half", broken); err == nil {
		t.Error("half of a file is there")
	}
	if got := Sh(t, c, "cat /workspace/sub/a.txt; ls -A /workspace | grep -c -e half -e boxinit; ls /etc/x /x 2>/dev/null; true"); got != "abc0" {
		t.Errorf("left: %q", got)
	}
	Sh(t, c, "mkdir /workspace/many; cd /workspace/many; seq 1200 | xargs touch")
	if f, err := c.Look(t.Context(), "many"); err != nil || len(f.Entries) != 1000 || !f.More {
		t.Errorf("%d entries, %t, %v", len(f.Entries), f.More, err)
	}
}

// dialled: people see what runs in a container, and reach a program that listens there, but not the gateway.
func dialled(t *testing.T, s *Site, c *sandbox.Container) {
	rooms := s.Rooms
	server := Sh(t, c, `mkdir www; echo hello >www/index.html; cd www
		if command -v python3 >/dev/null; then server="python3 -m http.server -b 127.0.0.1 8123"; else server="busybox httpd -f -p 127.0.0.1:8123"; fi
		setsid $server >/dev/null 2>&1 </dev/null & echo $server`)
	Until(t, "the server listens", func() bool {
		result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"grep", "-q", "0100007F:1FBB 00000000:0000 0A", "/proc/net/tcp"}})
		return err == nil && result.Code == 0
	})
	s.answers(t, c)
	list, more, err := rooms.Processes(t.Context(), c.Room)
	if at := slices.IndexFunc(list, func(p sandbox.Running) bool { return slices.Contains(p.Ports, 8123) }); at < 0 || more || err != nil ||
		list[at].Command != server || list[at].Memory < 1000 || list[at].Since.IsZero() {
		t.Errorf("%+v, %t, %v", list, more, err)
	}
	conn, err := rooms.Dial(t.Context(), c.Room, 8123)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, busy := rooms.LastUse(c.Name); !busy {
		t.Error("the container may be stopped while somebody is connected")
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello\n" {
		t.Errorf("%q, %v", body, err)
	}
	conn.Close()
	if _, busy := rooms.LastUse(c.Name); busy {
		t.Error("the container is in use")
	}
	for _, port := range []int{0, 1, 3128, 8124, 70000} {
		if _, err := rooms.Dial(t.Context(), c.Room, port); !errors.Is(err, sandbox.ErrNoListener) {
			t.Errorf("port %d: %v", port, err)
		}
	}
	if _, err := rooms.Dial(t.Context(), "!none:here", 8123); !errors.Is(err, sandbox.ErrNoOffer) {
		t.Errorf("no container: %v", err)
	}
}

// oddOffers: a connection that does not answer is given up for the next one.
func oddOffers(t *testing.T, s *Site, c *sandbox.Container) {
	for name, do := range map[string]func(c net.Conn){
		"closed": func(c net.Conn) { c.Close() },
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	} {
		s.answers(t, c)
		ours, theirs := net.Pipe()
		go do(theirs)
		s.Rooms.Offer(c.Room, ours, "")
		if result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"echo", "hello"}}); err != nil || string(result.Stdout) != "hello\n" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// sameTime: operations at the same time do not wait for each other, and each outlives the process that serves it.
func sameTime(t *testing.T, s *Site, c *sandbox.Container) {
	run := func(id string) {
		t.Helper()
		var out strings.Builder
		status, err := c.Run(t.Context(), sandbox.RunSpec{ID: id, Argv: []string{"sh", "-c", "echo out; exit 3"}}, &out, func(bool) {})
		if err != nil || out.String() != "out\n" || status.Code != 3 {
			t.Errorf("run %s: %q, %+v, %v", id, out.String(), status, err)
		}
	}
	s.answers(t, c)
	first := connector(t, c)
	run("1st")
	if again := connector(t, c); first == "" || again != first {
		t.Fatalf("processes: first %q, then %q; want one, the same", first, again)
	}

	// Operations at the same time do not wait for each other.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", "touch /workspace/there; exec sleep 1000"}})
		waiting <- err
	}()
	Until(t, "the command is running", func() bool { return Sh(t, c, "ls /workspace") == "there" })
	run("3rd")
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}

	// A process that ends costs nothing but time, and one that does not go on costs some more.
	if _, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", "kill -9 $PPID"}}); !errors.Is(err, sandbox.ErrUnreachable) {
		t.Errorf("its process was killed: %v, want ErrUnreachable", err)
	}
	run("4th")
	pid := connector(t, c)
	if pid == "" || pid == first {
		t.Fatalf("processes: first %q, then %q", first, pid)
	}
	if s.Beside != nil {
		// Kill returns before all threads have stopped: one of them could still begin to answer.
		Sh(t, s.Beside(c), "kill -STOP "+pid+"; while grep -h ^State: /proc/"+pid+"/task/*/status | grep -qv stopped; do sleep 0.001; done")
		run("5th")
		Sh(t, s.Beside(c), "kill -CONT "+pid)
	}

	// A reader that does not want more ends its operation, not the run.
	if _, err := c.Run(t.Context(), sandbox.RunSpec{ID: "6th", Argv: []string{"echo", "out"}}, failing{io.ErrShortBuffer}, func(bool) {}); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("%v, want the writer's error", err)
	}
	run("7th")
}

// connector returns the process in a container that carries out operations.
func connector(t testing.TB, c *sandbox.Container) string {
	t.Helper()
	return Sh(t, c, `for p in /proc/[0-9]*; do if tr "\0" " " <$p/cmdline 2>/dev/null | grep -qx "boxinit connect "; then echo ${p#/proc/}; fi; done`)
}
