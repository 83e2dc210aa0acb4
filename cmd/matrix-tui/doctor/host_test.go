package doctor

import (
	"net/http"
	"net/http/httptest"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/settings"
)

func TestCheckMemory(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text, want string
		limit      settings.Bytes
	}{
		{"MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n", "ok   memory: 2.0 GiB of 4.0 GiB available; each container may use 2g, 4 tasks run at once", 2 << 30},
		{"MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n", "ok   memory: 512 MiB of 1.0 GiB available; one container may use more than the host has (SANDBOX_MEMORY is 2g): ", 2 << 30},
		{"MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n", "ok   memory: 512 MiB of 1.0 GiB available; each container may use all of it", 0},
		{"MemTotal: 1048576 kB\nMemAvailable: 1024 kB\n", "FAIL memory: only 1 MiB of 1.0 GiB available: stop programs", 2 << 30},
		{"MemTotal: 1048576 kB\n", "skip memory: ", 0},
	} {
		begins(t, checkMemory(&settings.Config{Memory: c.limit, MaxParallel: 4}, clitest.Write(t, filepath.Join(dir, "meminfo"), c.text)), c.want)
	}
	begins(t, checkMemory(&settings.Config{}, filepath.Join(dir, "none")), "skip memory: cannot be determined")
}

func TestCheckSubIDs(t *testing.T) {
	dir := t.TempDir()
	me := &user.User{Username: "bot", Uid: "1001"}
	full := clitest.Write(t, filepath.Join(dir, "full"), "other:1:99999\nbot:100000:65536\n")
	byID := clitest.Write(t, filepath.Join(dir, "id"), "1001:100000:65536\n")
	small := clitest.Write(t, filepath.Join(dir, "small"), "bot:100000:1000\nbot:x:y\nbotany:1:65536\n")
	begins(t, checkSubIDs(me, full, byID), "ok   sub-IDs: user bot has enough")
	begins(t, checkSubIDs(me, full, small), "FAIL sub-IDs: user bot has 1000 of the 65536 IDs in "+small+" that containers need: `usermod --add-subuids ")
	begins(t, checkSubIDs(me, filepath.Join(dir, "none")), "FAIL sub-IDs: user bot has 0 of ")
}

func TestCheckLinger(t *testing.T) {
	dir := t.TempDir()
	begins(t, checkLinger("bot", dir), "FAIL lingering: podman of user bot stops when bot logs out")
	clitest.Write(t, filepath.Join(dir, "bot"), "")
	begins(t, checkLinger("bot", dir), "ok   lingering: ")
}

func TestUnitFinding(t *testing.T) {
	for shown, want := range map[string]string{
		"LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\n":  "ok   unit matrix-tui.service is running and starts at boot",
		"LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=disabled\n": "FAIL unit matrix-tui.service is running but will not start at boot (disabled): run `systemctl enable ",
		"LoadState=loaded\nActiveState=failed\nSubState=failed\nUnitFileState=enabled\n":   "FAIL unit matrix-tui.service is not running (failed, failed): `systemctl start ",
		"LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\n":       "skip unit matrix-tui.service is not installed: ",
	} {
		begins(t, unitFinding(shown), want)
	}
}

func TestCheckClock(t *testing.T) {
	for ahead, want := range map[time.Duration]string{
		0: "ok   clock: in sync with the homeserver", 30 * time.Second: "ok   clock: in sync with the homeserver, 30s ahead of it",
		2 * time.Hour: "FAIL clock: this host is 2h0m0s ahead of the homeserver: turn on time synchronisation", -61 * time.Second: "FAIL clock: this host is 1m1s behind the homeserver",
	} {
		begins(t, clockFinding(ahead), want)
	}
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = []string{date} }))
	defer server.Close()
	begins(t, checkClock(t.Context(), &settings.Config{Homeserver: settings.WebAddress(server.URL)}), "FAIL clock: this host is ")
	date = "soon"
	begins(t, checkClock(t.Context(), &settings.Config{Homeserver: settings.WebAddress(server.URL)}), "skip clock: the homeserver did not send its time")
	begins(t, checkClock(t.Context(), &settings.Config{Homeserver: settings.WebAddress(closedPort(t))}), "skip clock: the homeserver does not answer")
}

func TestCheckStorage(t *testing.T) {
	dir := t.TempDir()
	begins(t, checkStorage(dir, dir), "ok   podman's storage "+dir+" is on the same disk as the state folder")
	begins(t, checkStorage("/proc", dir), "ok   podman's storage "+dir+", ")
	begins(t, checkStorage(dir, "/proc"), "FAIL podman's storage /proc has 0 MiB free but needs 1.0 GiB: ")
	begins(t, checkStorage(dir, filepath.Join(dir, "none")), "skip podman's storage ")
}

func TestCheckKeyrings(t *testing.T) {
	for _, c := range []struct {
		most, keyrings int
		bad            bool
		text           string
	}{
		{0, 200, false, "at most 180 containers run at once"},
		{180, 200, false, "allows a user 200"},
		{181, 200, true, "enough for 180 containers, but MAX_CONTAINERS is 181"},
		{0, 20000, false, "allows a user 20000"},
		{1000, 20000, false, "allows a user 20000"},
		{0, 0, false, "does not say"},
	} {
		if got := checkKeyrings(c.most, c.keyrings); got.Bad != c.bad || !strings.Contains(got.Text, c.text) {
			t.Errorf("%d of %d: %v", c.most, c.keyrings, got)
		}
	}
}
