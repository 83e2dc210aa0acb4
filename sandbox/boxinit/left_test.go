package boxinit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestListening(t *testing.T) {
	dir := t.TempDir()
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for name, text := range map[string]string{
		"tcp": head + "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0\n" +
			"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 112 1 0 100 0 0 10 0\n" + "short\n",
		"tcp6": head + "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 113 1 0\n" +
			"   1: 0:zz 0:0 0A 0:0 0:0 0 0 0 114 1 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(map[string]int{"socket:[111]": 8080, "socket:[113]": 80}, listening(dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Listed are those that listen, each port once, and the oldest of a session in which nothing does.
func TestChooseLeft(t *testing.T) {
	ports := map[int][]int{2: {80}, 3: {80}, 7: {81, 82}}
	var found []process
	for pid, session := range []int{0, 10, 10, 10, 20, 20, 30, 30} {
		if pid > 0 {
			found = append(found, process{pid: pid, session: session})
		}
	}
	var got []int
	for _, one := range chooseLeft(found, func(p process) Left { return Left{PID: p.pid, Ports: ports[p.pid]} }) {
		got = append(got, one.PID)
	}
	if d := cmp.Diff([]int{2, 4, 7}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBoundedLeft(t *testing.T) {
	many := make([]int, 20)
	for i := range many {
		many[i] = i - 1
	}
	list := BoundedLeft(append(make([]Left, 25), Left{}))
	if len(list) != maxLeft {
		t.Errorf("%d entries", len(list))
	}
	one := BoundedLeft([]Left{{Command: "a\n\xffb" + strings.Repeat("é", 1000), Ports: append(many, 70000)}})[0]
	if len(one.Command) > maxLeftText || !utf8.ValidString(one.Command) || strings.Contains(one.Command, "\n") || !strings.HasPrefix(one.Command, "a \uFFFDb") {
		t.Errorf("command of %d bytes: %q", len(one.Command), one.Command)
	}
	if d := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8}, one.Ports); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What a run has left is found until it ends, also when the run's record is no longer needed.
func TestLeft(t *testing.T) {
	s := testStore(t)
	left := func() (list []Left) {
		t.Helper()
		_, reply := ask(t, s, Request{Op: OpLeft}, "")
		if reply.Error != "" {
			t.Fatal(reply.Error)
		}
		return reply.Left
	}
	began := time.Now()
	startRun(t, s, RunSpec{ID: "first", Dir: "/", Argv: []string{"sh", "-c", "setsid sleep 7001 & MATRIX_TUI_READER=1 setsid sleep 7002 & echo begun"}})
	if _, status := outputOf(t, s, "first"); !status.Left {
		t.Errorf("status: %+v", status)
	}
	startRun(t, s, RunSpec{ID: "second", Dir: "/", Argv: []string{"sleep", "7003"}, Forget: []string{"first"}})
	s.prune(0, 0)
	var got []Left
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && (len(got) != 1 || got[0].Command != "sleep 7001"); got = left() {
	}
	if len(got) != 1 || got[0].Command != "sleep 7001" || len(got[0].Ports) != 0 || got[0].Since.Sub(began).Abs() > time.Minute {
		t.Fatalf("left: %+v", got)
	}
	if _, reply := ask(t, s, Request{Op: OpEndLeft}, ""); reply.Error != "" {
		t.Fatal(reply.Error)
	}
	if got := left(); len(got) != 0 {
		t.Errorf("after the end: %+v", got)
	}
	if status, err := s.status("second"); err != nil || status.State != RunRunning {
		t.Errorf("the active run: %+v, %v", status, err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && len(s.leftRuns()) > 0; { // the supervisor ends last
	}
	if err := s.remove("first"); err != nil {
		t.Error(err)
	}
	if status, err := s.status("first"); err != nil || status.State != RunNone {
		t.Errorf("the ended run: %+v, %v", status, err)
	}
}
