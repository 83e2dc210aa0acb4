package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/rs/zerolog"

	"matrix-tui/state/roomname"
)

// The tests use real podman and an image of boxinit and busybox that they build.
var (
	testPodman *Podman
	testRooms  *Rooms
	testDoors  doors
	testImage  string
	skipReason string
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	remove, err := prepare(ctx)
	if err != nil {
		skipReason = err.Error()
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			fmt.Fprintln(os.Stderr, "sandbox tests need podman:", err)
			return 1
		}
		fmt.Fprintln(os.Stderr, "SKIPPING all tests on real podman:", err)
	} else {
		defer remove()
	}
	return m.Run()
}

// prepare connects to podman and imports the image.
func prepare(ctx context.Context) (remove func(), err error) {
	p, err := Connect(ctx, "", zerolog.New(zerolog.TestWriter{}).Level(zerolog.Disabled))
	if err != nil {
		return nil, err
	}
	layer, err := testLayer(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	image := fmt.Sprintf("localhost/matrix-tui-test-container:%s-%d", hex.EncodeToString(sum[:6]), os.Getpid())
	options := new(images.ImportOptions).WithReference(image).WithChanges([]string{
		"ENTRYPOINT " + imageInit, "ENV PATH=/usr/bin:/bin",
	})
	if _, err := images.Import(p.with(ctx), bytes.NewReader(layer), options); err != nil {
		return nil, fmt.Errorf("import test image: %w", err)
	}
	p.Place = Place{Doors: &testDoors, Version: "test"}
	testPodman, testRooms, testImage = p, NewRooms(p, p.log), image
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), hung)
		defer cancel()
		images.Remove(p.with(ctx), []string{image}, nil)
		p.Close()
	}, nil
}

// testLayer returns a file system with boxinit, busybox and programs that attack.
func testLayer(ctx context.Context) ([]byte, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("the Debian package busybox-static is needed: %w", err)
	}
	dir, err := os.MkdirTemp("", "boxinit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "matrix-tui/cmd/boxinit", "matrix-tui/sandbox/testdata/attack")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build boxinit and attack: %w: %s", err, out)
	}
	old := filepath.Join(dir, "program32")
	if err := os.WriteFile(old, program32(), 0o644); err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, name := range []string{"bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "usr/bin", "var", "var/lib", "workspace"} {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755})
	}
	for name, from := range map[string]string{
		"usr/bin/boxinit": filepath.Join(dir, "boxinit"), "usr/bin/attack": filepath.Join(dir, "attack"),
		"usr/bin/program32": old, "bin/busybox": busybox,
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(data))})
		w.Write(data)
	}
	for name, text := range map[string]string{"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"} {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))})
		io.WriteString(w, text)
	}
	for _, applet := range strings.Fields("sh cat chmod cut grep mkfifo sed tr seq sort ulimit usleep chown dd echo env false head id kill ls mkdir nc printf ps pwd rm setsid sleep stat tail touch true wc yes") {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777})
	}
	err = w.Close()
	return layer.Bytes(), err
}

// skipHost says loudly what this host lacks, and fails if it must not lack it.
func skipHost(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		t.Fatal("MATRIX_TUI_E2E=require: ", why)
	}
	t.Skip("NOT TESTED: ", why)
}

// hostOf returns what podman reports about this host, as a copy: all tests share it.
func hostOf(t testing.TB) host {
	t.Helper()
	h, err := needPodman(t).about(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// needPodman skips the test if there is no podman; with MATRIX_TUI_E2E=require TestMain has already failed.
func needPodman(t testing.TB) *Podman {
	t.Helper()
	if testPodman == nil {
		t.Skip("no podman: ", skipReason)
	}
	return testPodman
}

// testRoom returns a made-up room whose container and volumes are removed after the test.
func testRoom(t testing.TB) string {
	t.Helper()
	var digits [5]byte
	rand.Read(digits[:])
	room := "!test-sandbox-" + hex.EncodeToString(digits[:]) + ":localhost"
	p := needPodman(t)
	t.Cleanup(func() { sweep(t, p, room, NameFor(room), WholeName(room)) })
	return room
}

// volume names of a room that shares them with no other one
func workspaceVolume(room string) string { return volumeKinds[0] + roomname.Short(room) }
func homeVolume(room string) string      { return volumeKinds[1] + roomname.Short(room) }

func sweep(t testing.TB, p *Podman, room string, names ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	for _, name := range names {
		containers.Remove(p.with(ctx), name, new(containers.RemoveOptions).WithForce(true).WithIgnore(true))
	}
	for _, volume := range []string{workspaceVolume(room), homeVolume(room), volumeKinds[0] + roomname.Whole(room), volumeKinds[1] + roomname.Whole(room)} {
		volumes.Remove(p.with(ctx), volume, new(volumes.RemoveOptions).WithForce(true))
	}
}

// testSpec is a container for a made-up room.
func testSpec(t testing.TB) Spec {
	t.Helper()
	return specFor(t, testRoom(t))
}

// specFor is a container for a room.
func specFor(t testing.TB, room string) Spec {
	t.Helper()
	gatewayFor(t, testRooms, room)
	return Spec{Room: room, Image: testImage, Memory: 256 << 20, CPUs: 1, PIDs: 128, Runtime: os.Getenv("SANDBOX_RUNTIME")}
}

// testContainer is a running container.
func testContainer(t testing.TB) *Container {
	t.Helper()
	return ensure(t, testSpec(t))
}

// ensure returns the container of the spec. For a fresh one it asks podman, however slow the host is.
func ensure(t testing.TB, spec Spec) *Container {
	t.Helper()
	if spec.Fresh {
		testRooms.ensured.Delete(spec.Room)
	}
	container, err := testRooms.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return container
}

func rootless(t testing.TB) bool {
	t.Helper()
	is, err := needPodman(t).Rootless(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// sh runs a shell script in the container and returns its stdout; it fails the test if the script fails.
func sh(t testing.TB, container *Container, script string) string {
	t.Helper()
	result, err := container.Exec(t.Context(), Cmd{Argv: []string{"/bin/sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Code != 0 {
		t.Fatalf("%s: exit code %d: %s", script, result.Code, result.Stderr)
	}
	return strings.TrimSpace(string(result.Stdout))
}

// start starts a shell script as a run.
func start(t testing.TB, container *Container, id, script string) {
	t.Helper()
	if _, err := container.StartRun(t.Context(), RunSpec{ID: id, Argv: []string{"sh", "-c", script}}); err != nil {
		t.Fatal(err)
	}
}

// follow reads a run to its end.
func follow(t testing.TB, container *Container, id string) (string, RunStatus) {
	t.Helper()
	var out bytes.Buffer
	status, err := container.FollowRun(t.Context(), id, 0, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), status
}

// pause pauses a container, if the host can.
func pause(t testing.TB, container *Container) {
	t.Helper()
	// With cgroup v1, runc gives up if a process of the container does not freeze soon, and thaws the others.
	until(t, "the container is paused", func() bool {
		err := containers.Pause(testPodman.with(t.Context()), container.ID, nil)
		if err != nil && strings.Contains(err.Error(), "can not pause containers on rootless containers with cgroup V1") {
			skipHost(t, err.Error())
		}
		if err != nil && !strings.Contains(err.Error(), "runc pause") {
			t.Fatal(err)
		}
		return err == nil
	})
}

// hung is how long a test waits for something that must happen: far longer than it takes on the busiest host.
const hung = 5 * time.Minute

// until waits for something that another process does.
func until(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(hung); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("not within %v: %s", hung, what)
}
