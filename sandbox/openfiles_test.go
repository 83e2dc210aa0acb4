package sandbox

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limitsIn returns the soft and the hard limit on open files in a container.
func limitsIn(t *testing.T, c *Container) string {
	t.Helper()
	result, err := c.Exec(t.Context(), Cmd{Argv: []string{"sh", "-c", "ulimit -Sn; ulimit -Hn"}})
	if err != nil || result.Code != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	return strings.Join(strings.Fields(string(result.Stdout)), " ")
}

// A container gets no higher limit than this process may have.
func TestOpenFilesOfThisProcess(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []int64{leastFiles, 1 << 40} {
		if got, want := OpenFiles(wanted), min(own.Max, uint64(wanted)); uint64(got) != want {
			t.Errorf("%d: got %d, want %d", wanted, got, want)
		}
	}
}

// A process may have as many open files as the setting allows.
func TestOpenFiles(t *testing.T) {
	spec := testSpec(t)
	spec.Files = 8192
	container := ensure(t, spec)
	if got := limitsIn(t, container); got != "8192 8192" {
		t.Errorf("limits %q", got)
	}
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
}
