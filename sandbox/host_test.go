package sandbox

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// What this process finds out by itself is what podman says.
func TestHostAsPodmanSays(t *testing.T) {
	p := needPodman(t)
	info, err := p.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, ok := rootful(t.Context(), p.Socket(), os.DirFS("/sys/fs/cgroup"))
	all := !slices.ContainsFunc(limiting, func(c string) bool { return !slices.Contains(info.Host.CgroupControllers, c) })
	if want := !info.Host.Security.Rootless && all; ok != want {
		t.Fatalf("rootful with all controllers: %v; podman says rootless %v, controllers %q", ok, info.Host.Security.Rootless, info.Host.CgroupControllers)
	}
	about, err := p.about(t.Context())
	if err != nil || about.rootless != info.Host.Security.Rootless {
		t.Errorf("%+v, %v", about, err)
	}
	for _, needed := range limiting {
		if about.can(needed) != slices.Contains(info.Host.CgroupControllers, needed) || ok && !h.can(needed) {
			t.Errorf("%s: %+v", needed, about)
		}
	}
}

// A volume shows where podman's storage is.
func TestStorage(t *testing.T) {
	ensure(t, testSpec(t)) // with volumes
	p, err := Connect(t.Context(), "unix://"+testPodman.Socket(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	storage, err := p.Storage(t.Context())
	if err != nil || p.known != nil {
		t.Errorf("%v, asked podman: %v", err, p.known != nil)
	}
	info, err := testPodman.info(t.Context())
	if err != nil || storage != info.Store.GraphRoot {
		t.Errorf("%q, podman says %q, %v", storage, info.Store.GraphRoot, err)
	}
}

func TestControllers(t *testing.T) {
	procs := &fstest.MapFile{}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  []string
	}{
		"version 2":       {fstest.MapFS{"cgroup.controllers": {Data: []byte("cpuset cpu io memory pids\n")}, "user.slice/cgroup.procs": procs}, []string{"cpuset", "cpu", "io", "memory", "pids"}},
		"version 1":       {fstest.MapFS{"cpu,cpuacct/cgroup.procs": procs, "memory/cgroup.procs": procs, "none/x": procs}, []string{"cpu", "cpuacct", "memory"}},
		"nothing mounted": {fstest.MapFS{}, nil},
	} {
		if diff := cmp.Diff(c.want, controllers(c.files)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A service that is not root's, or that cannot limit everything, is not taken for one that can.
func TestRootful(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err := listenerOf(t.Context(), socket)
	if err != nil || int(peer.Uid) != os.Getuid() || int(peer.Pid) != os.Getpid() {
		t.Fatalf("%+v, %v", peer, err)
	}
	for list, all := range map[string]bool{"cpu memory pids": true, "cpu memory": false, "": false} {
		var cgroups fs.FS = fstest.MapFS{"cgroup.controllers": {Data: []byte(list)}}
		if h, ok := rootful(t.Context(), socket, cgroups); ok != (all && peer.Uid == 0) {
			t.Errorf("%q: %+v, %v", list, h, ok)
		}
	}
	if _, ok := rootful(t.Context(), socket+"-none", os.DirFS("/sys/fs/cgroup")); ok {
		t.Error("nobody listens there")
	}
}
