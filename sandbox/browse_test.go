package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// What a person browses in the workspace has any name, and no link leads out of it.
func TestBrowse(t *testing.T) {
	container := testContainer(t)
	sh(t, container, `cd /workspace; mkdir -p sub/deep "$(printf 'new\nline')"; printf abc >sub/a.txt; printf x >"$(printf 'bad\377name')"
		ln -s /etc out; ln -s /etc/passwd secret; ln -s sub in; ln -s ../../../etc/passwd sub/up; mkfifo pipe; ln -s / root; printf '<b>' >'<script>'`)
	found, err := container.Look(t.Context(), "")
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
		if f, err := container.Look(t.Context(), name); err != nil || !f.File || f.Size != int64(len(content)) {
			t.Errorf("%q: %+v, %v", name, f, err)
		}
		if err := container.Download(t.Context(), name, int64(len(content)), &out); err != nil || out.String() != content {
			t.Errorf("%q: %q, %v", name, out.String(), err)
		}
	}
	if err := container.Download(t.Context(), "sub/a.txt", 9, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that became shorter: %v", err)
	}
	for _, name := range []string{"secret", "out", "out/passwd", "sub/up", "root/etc/passwd", "../etc/passwd", "/etc/passwd", "pipe", "sub", "none", "new\nline"} {
		if err := container.Download(t.Context(), name, 100, io.Discard); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", name, err)
		}
	}
	for _, name := range []string{"out", "../etc", "/etc", "none", "root"} {
		if f, err := container.Look(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %+v, %v, want ErrNotFound", name, f, err)
		}
	}
	if err := container.Upload(t.Context(), "in/new.txt", strings.NewReader(strings.Repeat("x", 200_000))); err != nil {
		t.Error(err)
	}
	if got := sh(t, container, "wc -c </workspace/sub/new.txt"); got != "200000" {
		t.Errorf("it has %s bytes", got)
	}
	sh(t, container, `mkdir "/workspace/a dir"; ln -s "a dir" /workspace/dirlink; ln -s dirlink /workspace/again`)
	for _, name := range []string{"dirlink/x", "again/y", "dirlink/in it ü"} {
		if err := container.Upload(t.Context(), name, strings.NewReader("x")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, is := range map[string]error{"sub/a.txt": ErrFileExists, "sub": ErrFileExists, "secret": ErrFileExists, "none/x": ErrNotFound} {
		if err := container.Upload(t.Context(), name, strings.NewReader("new")); !errors.Is(err, is) {
			t.Errorf("%q: %v, want %v", name, err, is)
		}
	}
	for _, name := range []string{"out/x", "../x", "/etc/x", "root/x", "sub/..", "."} {
		if err := container.Upload(t.Context(), name, strings.NewReader("new")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("the browser is gone")))
	if err := container.Upload(t.Context(), "half", broken); err == nil {
		t.Error("half of a file is there")
	}
	if got := sh(t, container, "cat /workspace/sub/a.txt; ls -A /workspace | grep -c -e half -e boxinit; ls /etc/x /x 2>/dev/null; true"); got != "abc0" {
		t.Errorf("left: %q", got)
	}
	sh(t, container, "mkdir /workspace/many; cd /workspace/many; seq 1200 | xargs touch")
	if f, err := container.Look(t.Context(), "many"); err != nil || len(f.Entries) != 1000 || !f.More {
		t.Errorf("%d entries, %t, %v", len(f.Entries), f.More, err)
	}
}

// People see what runs in a container, and reach a program that listens there, but not the gateway.
func TestDial(t *testing.T) {
	spec := testSpec(t)
	gatewayFor(t, testRooms, spec.Room)
	container := ensure(t, spec)
	sh(t, container, `mkdir /workspace/www; echo hello >/workspace/www/index.html; busybox httpd -p 127.0.0.1:8123 -h /workspace/www`)
	until(t, "the container offers a connection", func() bool { return offered(testRooms, spec.Room) })
	list, more, err := testRooms.Processes(t.Context(), spec.Room)
	if at := slices.IndexFunc(list, func(p Running) bool { return slices.Contains(p.Ports, 8123) }); at < 0 || more || err != nil ||
		!strings.HasPrefix(list[at].Command, "busybox httpd") || list[at].Memory < 1000 || list[at].Since.IsZero() {
		t.Errorf("%+v, %t, %v", list, more, err)
	}
	conn, err := testRooms.Dial(t.Context(), spec.Room, 8123)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, busy := testRooms.LastUse(container.Name); !busy {
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
	if _, busy := testRooms.LastUse(container.Name); busy {
		t.Error("the container is in use")
	}
	for _, port := range []int{0, 1, 3128, 8124, 70000} {
		if _, err := testRooms.Dial(t.Context(), spec.Room, port); !errors.Is(err, ErrNoListener) {
			t.Errorf("port %d: %v", port, err)
		}
	}
	if _, err := testRooms.Dial(t.Context(), "!none:here", 8123); !errors.Is(err, ErrNoOffer) {
		t.Errorf("no container: %v", err)
	}
}
