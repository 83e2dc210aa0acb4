package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestTogetherIn(t *testing.T) {
	for _, c := range []struct {
		systemd, rootless bool
		want              string
	}{{true, true, "matrixtui.slice"}, {true, false, "matrixtui.slice"}, {false, false, "/matrix-tui"}, {false, true, ""}} {
		if got := togetherIn(c.systemd, c.rootless); got != c.want {
			t.Errorf("systemd %v, rootless %v: %q, want %q", c.systemd, c.rootless, got, c.want)
		}
	}
}

// A warning is in the log once.
func TestWarnOnce(t *testing.T) {
	var log bytes.Buffer
	s := &service{log: zerolog.New(&log)}
	s.warnOnce(TogetherSlice, "what all containers together use is not limited")
	s.warnOnce(TogetherSlice, "what all containers together use is not limited")
	if n := strings.Count(log.String(), "what all containers together use is not limited"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// The limits are those of the slice that the installer sets up.
func TestLimitsTogether(t *testing.T) {
	limits := limitsFor(1000, 500)
	if diff := cmp.Diff(together{high: 750, max: 850, tasks: 250}, limits, cmp.AllowUnexported(together{})); diff != "" {
		t.Error(diff)
	}
	unit, err := os.ReadFile("../deploy/units/" + TogetherSlice)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"MemoryHigh=75%\n", "MemoryMax=85%\n", "TasksMax=50%\n"} {
		if !strings.Contains(string(unit), line) {
			t.Errorf("the slice has no line %q", line)
		}
	}
	for version, c := range map[string]struct {
		folders []string
		files   map[string]string // as they are afterwards
	}{
		"1": {[]string{"memory", "pids"}, map[string]string{"memory/matrix-tui/memory.limit_in_bytes": "850", "pids/matrix-tui/pids.max": "250"}},
		"2": {nil, map[string]string{"matrix-tui/memory.high": "750", "matrix-tui/memory.max": "850", "matrix-tui/pids.max": "250", "cgroup.subtree_control": "+memory +pids"}},
	} {
		root := t.TempDir()
		for _, folder := range c.folders {
			if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if version == "2" {
			for name, text := range map[string]string{"cgroup.controllers": "cpu io memory pids", "cgroup.subtree_control": ""} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 2 { // the second time it is there
			if err := limits.write(root); err != nil {
				t.Fatal(err)
			}
		}
		for file, want := range c.files {
			if got, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(got) != want {
				t.Errorf("version %s: %s: %q, %v, want %q", version, file, got, err, want)
			}
		}
	}
	if err := limits.write("/nonexistent"); err == nil {
		t.Error("a host without control groups got limits")
	}
}

// On this host, all containers are in the control group, and it has limits.
func TestContainersTogether(t *testing.T) {
	container := testContainer(t)
	data, err := containers.Inspect(testPodman.with(t.Context()), container.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := togetherIn(hostOf(t).systemd, rootless(t))
	if want != "" && !strings.Contains(data.State.CgroupPath, want) {
		t.Errorf("the container is in %q, want it in %s", data.State.CgroupPath, want)
	}
	if want != togetherFolder || os.Getuid() != 0 {
		return
	}
	limited := 0
	for _, file := range []string{"memory/matrix-tui/memory.limit_in_bytes", "matrix-tui/memory.max"} {
		if text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", file)); err == nil && len(text) < 16 {
			limited++
		}
	}
	if limited != 1 {
		t.Error("all containers together have no memory limit")
	}
}
