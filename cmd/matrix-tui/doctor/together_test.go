package doctor

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheckTogether(t *testing.T) {
	const users = "user.slice/user-7.slice/user@7.service/matrixtui.slice/memory.max"
	for _, c := range []struct {
		files             fstest.MapFS
		systemd, rootless bool
		want              string
	}{
		{fstest.MapFS{}, true, true, "skip all containers together: no limit can be read"},
		{fstest.MapFS{users: {Data: []byte("max\n")}}, true, true, "ok   all containers together may use all of the host's memory"},
		{fstest.MapFS{users: {Data: []byte("850\n")}}, true, true, "ok   all containers together may use 850 bytes"},
		{fstest.MapFS{"matrixtui.slice/memory.max": {Data: []byte("850\n")}}, true, false, "ok   all containers together may use 850 bytes"},
		{fstest.MapFS{}, false, true, "ok   all containers together may use all of the host's memory and processes: rootless podman without systemd"},
	} {
		if got := checkTogether(c.files, c.systemd, c.rootless, 7).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
