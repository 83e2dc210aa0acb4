package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/images"
	gocmp "github.com/google/go-cmp/cmp"
)

func TestRequestedIn(t *testing.T) {
	const status = "Package: bc\nStatus: install ok installed\nDescription: calculator\n Package: hidden\n\n" +
		"Package: libc\nStatus: install ok installed\n\n" +
		"Package: gone\nStatus: deinstall ok config-files\n\n" +
		"Package: held-g++\nStatus: hold ok installed\n\n" +
		"Package: apt-\nStatus: install ok installed\n\n" +
		"Package: -o\nStatus: install ok installed\n\n" +
		"Package: a b;reboot\nStatus: install ok installed\n\n" +
		"Package: \nStatus: install ok installed\n\n" +
		"Package: x" + "\x00" + "\nStatus: install ok installed\n\nPackage: last\nStatus: install ok installed"
	const states = "Package: libc\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: bc\nAuto-Installed: 0\n"
	if diff := gocmp.Diff([]string{"bc", "held-g++", "last"}, requestedIn([]byte(status), []byte(states))); diff != "" {
		t.Error(diff)
	}
	for _, garbage := range []string{"", "\n\n\n", strings.Repeat("x", 3<<20), "\xff\xfe:\n"} {
		if got := requestedIn([]byte(garbage), []byte(garbage)); len(got) > 0 {
			t.Errorf("%q in garbage", got)
		}
	}
}

// However many packages a container claims to have, few are remembered.
func TestManyPackages(t *testing.T) {
	var status, states strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&status, "Package: p%d\nStatus: install ok installed\n\n", i)
		fmt.Fprintf(&states, "Package: x%d\nAuto-Installed: 1\n\n", i)
	}
	if n := len(requestedIn([]byte(status.String()), []byte(states.String()))); n != 20_000 {
		t.Errorf("%d packages", n)
	}
	n := 0
	for range stanzas([]byte(states.String())) {
		n++
	}
	if n != 20_000 {
		t.Errorf("%d entries are read", n)
	}
}

// A container whose package database is hostile is replaced like any other, and somebody hears that packages may be lost.
func TestReplaceHostilePackages(t *testing.T) {
	t.Parallel()
	spec := testSpec(t)
	container := ensure(t, spec)
	other := derive(t, spec.Image, nil)
	for _, prepare := range []string{
		"mkdir -p /var/lib/dpkg/status/status",
		"mkfifo /var/lib/dpkg/status",
		"ln -s / /var/lib/dpkg/status",
		"dd if=/dev/zero of=/var/lib/dpkg/status bs=1 count=1 seek=40000000000",
	} {
		sh(t, container, "rm -rf /var/lib/dpkg/status; mkdir -p /var/lib/dpkg; "+prepare)
		spec.Fresh, spec.Image, other = true, other, spec.Image
		var passed []string
		spec.Replacing = func(_ context.Context, names []string) error {
			passed = names
			return nil
		}
		again := ensure(t, spec)
		if again.ID == container.ID {
			t.Error(prepare, ": the container was not replaced")
		}
		if diff := gocmp.Diff([]string{unread}, passed); diff != "" {
			t.Errorf("%s: %s", prepare, diff)
		}
		container = again
	}
}

// installs makes a container look as if packages had been installed in it.
func installs(t *testing.T, container *Container, count int) {
	t.Helper()
	sh(t, container, fmt.Sprintf(`mkdir -p /var/lib/dpkg; for i in $(seq 1001 %d); do printf 'Package: p%%s\nStatus: install ok installed\n\n' $i; done > /var/lib/dpkg/status`, 1000+count))
}

// The packages are passed on whatever the reason for a new container is, and as many as there are.
func TestPackagesOfRemadeContainer(t *testing.T) {
	t.Parallel()
	spec := testSpec(t)
	container := ensure(t, spec)
	installs(t, container, 2)
	var passed []string
	spec.Replacing = func(_ context.Context, names []string) error { passed = names; return nil }
	testDoors.move(t, spec.Room)
	again := ensure(t, spec)
	if diff := gocmp.Diff([]string{"p1001", "p1002"}, passed); diff != "" || again.ID == container.ID {
		t.Fatal(diff, again)
	}
	installs(t, again, maxPackages)
	names, err := testRooms.Packages(t.Context(), spec.Room, again.Name)
	if err != nil || len(names) != maxPackages || names[maxPackages-1] != "p1300" {
		t.Errorf("%d packages, %v", len(names), err)
	}
	again = ensure(t, spec) // which was stopped
	installs(t, again, maxPackages+7)
	names, err = testRooms.Packages(t.Context(), spec.Room, again.Name)
	if err != nil || len(names) != maxPackages || names[maxPackages-1] != "(8 more)" {
		t.Errorf("%d packages, %q, %v", len(names), names[len(names)-1], err)
	}
	if _, err := testRooms.Packages(t.Context(), spec.Room+"x", again.Name); !errors.Is(err, ErrNameTaken) {
		t.Error("another room's:", err)
	}
	if err := testRooms.Remove(t.Context(), again.Name, again.Room, ""); err != nil {
		t.Fatal(err)
	}
	if names, err := testRooms.Packages(t.Context(), spec.Room, again.Name); names != nil || err != nil {
		t.Error(names, err)
	}
}

// What is not even tried is reported as missing.
func TestReinstallNotes(t *testing.T) {
	t.Parallel()
	container := testContainer(t)
	missing, err := container.Reinstall(t.Context(), []string{unread, "(8 more)", "-x"})
	if diff := gocmp.Diff([]string{unread, "(8 more)"}, missing); diff != "" || err != nil {
		t.Error(diff, err)
	}
	var many []string
	for i := range maxReinstalled + 2 {
		many = append(many, fmt.Sprintf("p%d", 1000+i))
	}
	if missing, err = container.Reinstall(t.Context(), append(many, unread)); len(missing) != len(many)+1 || missing[len(many)-1] != many[len(many)-1] {
		t.Errorf("%d are missing, %v", len(missing), err)
	}
}

// Packages installed with the real apt are read from a stopped container, even if recording them fails once, and
// installed in the new one through the gateway's socket. The proxy behind it serves a repository of the test's own.
func TestReinstall(t *testing.T) {
	t.Parallel()
	spec := testSpec(t)
	spec.Memory, spec.PIDs = 0, 0
	dir := testDoors.move(t, spec.Room)
	spec.Image = cmp.Or(os.Getenv("SANDBOX_IMAGE"), "localhost/matrix-tui-sandbox:latest")
	if _, err := testPodman.ImageID(t.Context(), spec.Image); err != nil {
		skipHost(t, err.Error())
	}
	container := ensure(t, spec)
	sh(t, container, `cd /tmp
make() {
	mkdir -p $1/DEBIAN $1/usr/bin; echo "echo $1 works" > $1/usr/bin/$1; chmod 755 $1/usr/bin/$1
	printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: test <t@localhost>\nDescription: test\n%s' $1 "$2" > $1/DEBIAN/control
	dpkg-deb --build $1 $1.deb >/dev/null
}
make owl 'Depends: feather
'; make feather; make broken 'Depends: no-such-package
'
dpkg-scanpackages . > Packages 2>/dev/null
make hand-made`)
	files := map[string][]byte{}
	for _, name := range []string{"Packages", "owl.deb", "feather.deb", "hand-made.deb"} {
		data, err := container.ReadFile(t.Context(), "/tmp/"+name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	changed := map[string][]byte{"etc/apt/sources.list": []byte("deb [trusted=yes] http://packages.invalid/ ./\n"), "hand-made.deb": files["hand-made.deb"]}
	old := derive(t, spec.Image, changed)
	changed["etc/newer"] = nil
	newer := derive(t, spec.Image, changed)
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}

	serveProxy(t, dir, files)
	spec.Image, spec.Fresh = old, true
	container = ensure(t, spec)
	var said bytes.Buffer // in a run, as an agent does
	install := RunSpec{ID: "install", Dir: "/", MaxOutput: 256 << 10, Argv: []string{"sh", "-c", "export http_proxy=http://127.0.0.1:3128; apt-get -q update; apt-get -q -y install owl; dpkg -i /hand-made.deb; owl"}}
	if st, err := container.Run(t.Context(), install, &said, func(bool) {}); err != nil || st.Code != 0 {
		t.Fatal(st, err, said.String())
	}
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	var names []string
	spec.Image = newer
	spec.Replacing = func(context.Context, []string) error { return io.ErrShortWrite }
	if _, err := testRooms.Ensure(t.Context(), spec); err == nil {
		t.Error("replaced although the packages could not be recorded")
	}
	spec.Replacing = func(_ context.Context, found []string) error { names = found; return nil }
	again := ensure(t, spec)
	if diff := gocmp.Diff([]string{"hand-made", "owl"}, names); diff != "" || again.ID == container.ID {
		t.Fatal(diff, again)
	}
	for range 2 { // the second stands for a bot that was killed in the meantime
		missing, err := again.Reinstall(t.Context(), append(names, "broken", "$(touch /bad)"))
		if diff := gocmp.Diff([]string{"hand-made", "broken"}, missing); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	}
	if got := sh(t, again, "owl; feather; ls /etc/newer /bad 2>&1 | sort; apt-mark showauto feather; grep -c ^Commandline /var/log/apt/history.log"); got !=
		"owl works\nfeather works\n/etc/newer\nls: cannot access '/bad': No such file or directory\nfeather\n1" {
		t.Errorf("%q", got)
	}
}

// derive makes another image from one, with more files.
func derive(t *testing.T, from string, files map[string][]byte) (id string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		file := filepath.Join(dir, "root", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recipe := "FROM " + from + "\nLABEL test=" + rand.Text() + "\n"
	if files != nil {
		recipe += "COPY root /\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "Containerfile"), []byte(recipe), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "podman", "--url", "unix://"+testPodman.Socket(), "build", "--quiet", "--pull=never", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("podman build: %v: %s", err, out)
	}
	id = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hung)
		defer cancel()
		images.Remove(testPodman.with(ctx), []string{id}, new(images.RemoveOptions).WithForce(true))
	})
	return id
}

// serveProxy serves files by name to a container, as an HTTP proxy on the gateway's socket.
func serveProxy(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	socket := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[path.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
}
