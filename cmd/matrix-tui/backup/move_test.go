//go:build kube

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/sandboxtest"
	"matrix-tui/state"
)

// TestClusterMove moves rooms from podman into the cluster of deploy/kube-test with the two commands, and compares
// what a backup there contains.
func TestClusterMove(t *testing.T) {
	folder, ctx := os.Getenv("MATRIX_TUI_KUBE"), t.Context()
	door := must(sandboxtest.DoorIn(folder))
	t.Setenv("KUBECONFIG", filepath.Join(folder, "admin.kubeconfig"))
	host, there := filepath.Join(t.TempDir(), "host"), filepath.Join(t.TempDir(), "cluster")
	image := os.Getenv("SANDBOX_IMAGE")
	onHost := []string{"STATE_DIR=" + host, "CONTAINER_HOST=" + os.Getenv("CONTAINER_HOST"), "SANDBOX_IMAGE=" + image}
	inCluster := []string{"STATE_DIR=" + there, "SANDBOX_ENGINE=kubernetes", "KUBE_NAMESPACE=default", "KUBE_DOOR=" + door,
		"KUBE_LISTEN=" + door, "KUBE_STORAGE=1g", "SANDBOX_IMAGE=" + os.Getenv("MATRIX_TUI_KUBE_IMAGE")}
	run := func(environ []string, args ...string) clitest.Played {
		return clitest.Play(t, ctx, backupCommands, environ, args...)
	}

	// Two rooms on a host. One has replaced another, whose volumes it has.
	journal, store, err := state.Open(ctx, host, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stamp := time.Now().UnixNano()
	rooms := []string{fmt.Sprintf("!Den-%d:x", stamp), fmt.Sprintf("!Attic-%d:x", stamp)}
	podman := sandbox.NewRooms(must(sandbox.Connect(ctx, os.Getenv("CONTAINER_HOST"), zerolog.Nop())), zerolog.Nop())
	defer podman.Close()
	for i, room := range rooms {
		container := must(podman.Ensure(ctx, sandbox.Spec{Room: room, Image: image}))
		t.Cleanup(func() { _ = podman.Remove(context.Background(), container.Name, room, room) })
		result, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", `set -e; echo ` + room + ` >name; ln -s name link; ln name again
mkdir dir; chown 1000:1001 dir; chmod 2751 dir; head -c 20000000 /dev/urandom >random; truncate -s 100M sparse; echo x >/root/.x; chmod 600 /root/.x`}})
		if err != nil || result.Code != 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		if err := store.Containers.Set(ctx, room, container.Name); err != nil {
			t.Fatalf("room %d: %v", i, err)
		}
	}
	if _, err := store.Close(), journal.Close(); err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(t.TempDir(), "one.tar.gz"), filepath.Join(t.TempDir(), "two.tar.gz")
	if got := run(onHost, "backup", "-volumes", one); got.Code != 0 || !strings.Contains(got.Stdout, "the volumes of 2 rooms") {
		t.Fatalf("%+v", got)
	}

	cluster := must(engine.Connect(ctx, must(settings.Load(nil, inCluster, t.TempDir())), nil, zerolog.Nop()))
	t.Cleanup(func() {
		for _, room := range rooms {
			if err := cluster.Remove(context.Background(), sandbox.NameFor(room), room, room); err != nil {
				t.Error(err)
			}
		}
		cluster.Close()
	})
	begun := time.Now()
	if got := run(inCluster, "restore", "-volumes", one); got.Code != 0 || !strings.Contains(got.Stdout, rooms[0]+": restored (") || got.Stderr != "" {
		t.Fatalf("%+v", got)
	}
	t.Logf("MEASURED two rooms restored into the cluster: %s", time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	if got := run(inCluster, "backup", "-volumes", two); got.Code != 0 || !strings.Contains(got.Stdout, "the volumes of 2 rooms") {
		t.Fatalf("%+v", got)
	}
	t.Logf("MEASURED two rooms of the cluster backed up: %s", time.Since(begun).Round(time.Millisecond))
	before, after := contentOf(t, one), contentOf(t, two)
	if len(before) < 14 {
		t.Errorf("there is only %q", before)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}

	// Nothing is overwritten without -force, and a bot that runs is not disturbed.
	elsewhere := append([]string{"STATE_DIR=" + filepath.Join(t.TempDir(), "again")}, inCluster[1:]...)
	if got := run(elsewhere, "restore", "-volumes", one); got.Code == 0 || !strings.Contains(got.Stderr, "already has volumes") {
		t.Errorf("again: %+v", got)
	}
	if got := run(elsewhere, "restore", "-volumes", "-force", one); got.Code != 0 {
		t.Errorf("again, with force: %+v", got)
	}
	lock := must(state.Lock(there))
	defer lock.Close()
	if got := run(inCluster, "backup", "-volumes", two+"2"); got.Code == 0 || !strings.Contains(got.Stderr, "MAINTENANCE=true") {
		t.Errorf("while the bot runs: %+v", got)
	}
	if got := run(inCluster, "backup", two+"3"); got.Code != 0 {
		t.Errorf("without volumes, while the bot runs: %+v", got)
	}
}

// contentOf returns a line for each file in the volumes of a backup.
func contentOf(t *testing.T, file string) map[string]string {
	t.Helper()
	streams := map[string]*bytes.Buffer{}
	err := eachMember(file, func(name string, r io.Reader) error {
		inner, ok := strings.CutPrefix(name, "volumes/")
		if !ok {
			return nil
		}
		room, _, _ := strings.Cut(inner, "/")
		if streams[room] == nil {
			streams[room] = &bytes.Buffer{}
		}
		_, err := streams[room].ReadFrom(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for room, stream := range streams {
		for members := tar.NewReader(stream); ; {
			h, err := members.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			sum := sha256.New()
			if err == nil {
				_, err = io.Copy(sum, members)
			}
			if err != nil {
				t.Fatal(err)
			}
			kept := fmt.Sprintf("%c %o %d:%d %d %s %x", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Size, h.Linkname, sum.Sum(nil)[:8])
			if h.Typeflag != tar.TypeDir {
				kept += h.ModTime.String()
			}
			content[room+"/"+h.Name] = kept
		}
	}
	return content
}
