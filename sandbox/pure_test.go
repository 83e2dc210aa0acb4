package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/errorhandling"
	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

func TestResources(t *testing.T) {
	spec := Spec{Memory: 1 << 30, CPUs: 1.5, PIDs: 100}
	full, err := spec.resources(host{controllers: []string{"cpu", "memory", "pids"}})
	if err != nil || *full.Memory.Limit != 1<<30 || *full.Memory.Swap != 1<<30 || *full.CPU.Quota != 150_000 || *full.CPU.Period != 100_000 || full.Pids.Limit != 100 {
		t.Errorf("%+v, %v", full, err)
	}
	_, err = spec.resources(host{controllers: []string{"pids"}})
	if !errors.Is(err, ErrUnlimited) || !errors.Is(err, ErrWeak) || !strings.HasSuffix(err.Error(), "no cgroup controller memory (SANDBOX_MEMORY), cpu (SANDBOX_CPUS)") {
		t.Errorf("%v, want ErrUnlimited", err)
	}
	none, err := Spec{}.resources(host{})
	if err != nil || none.Memory != nil || none.CPU != nil || none.Pids != nil {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestLowestFree(t *testing.T) {
	all := make([]int, maxSlots)
	for i := range all {
		all[i] = i
	}
	for _, c := range []struct {
		taken []int
		want  int
		err   error
	}{
		{nil, 0, nil},
		{[]int{0, 1, 3}, 2, nil},
		{[]int{2, noSlot, 1}, 0, nil},
		{all[:maxSlots-1], maxSlots - 1, nil},
		{all, noSlot, ErrNoSlot},
	} {
		if got, err := lowestFree(c.taken); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%d taken: %d, %v", len(c.taken), got, err)
		}
	}
}

func TestParseSlot(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "17": 17, "": noSlot, "x": noSlot, "-3": noSlot, "99999": noSlot} {
		if got := parseSlot(map[string]string{labelSlot: text}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	for status, want := range map[string]action{
		"running": actUse, "paused": actUnpause, "created": actStart, "exited": actStart, "stopped": actStart, "configured": actStart,
		"stopping": actWait, "removing": actWait, "dead": actRemake, "unknown": actRemake, "": actRemake,
	} {
		data := &define.InspectContainerData{State: &define.InspectContainerState{Status: status}}
		if got := next(data, ""); got != want {
			t.Errorf("%q: %v, want %v", status, got, want)
		}
		if got := next(data, "/gateway"); got != actRemake {
			t.Errorf("%q without the gateway's mount: %v", status, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	model := func(because string) error {
		return fmt.Errorf("x: %w", &errorhandling.ErrorModel{Because: because, ResponseCode: 500})
	}
	for _, c := range []struct {
		err  error
		want *sentence.Error
	}{
		{model("no such container"), ErrNotFound},
		{model("image not known"), ErrImageMissing},
		{model("that name is already in use"), ErrNameTaken},
		{model("container state improper"), ErrNotRunning},
		{model("fork/exec /usr/bin/conmon: cannot allocate memory"), ErrOutOfMemory},
		{model("write /x: no space left on device"), ErrNoSpace},
		{model("runc create failed: unable to start container process: unable to join session keyring: unable to create session key: disk quota exceeded: OCI runtime error"), ErrNoKeys},
		{model("crun: create keyring `4f2a`: Disk quota exceeded: OCI runtime error"), ErrNoKeys},
		{model("crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI runtime error"), ErrNoFiles},
		{model("runc create failed: error setting rlimit type 7: operation not permitted"), ErrNoFiles},
		{model("write /x: disk quota exceeded"), nil},
		{model("something else"), nil},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ErrUnreachable},
		{io.EOF, ErrUnreachable},
		{context.Canceled, nil},
		{&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, nil},
		{errors.New("other"), nil},
	} {
		if got := kindOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	for _, kind := range []*sentence.Error{ErrNotFound, ErrNotRunning, ErrNameTaken, ErrUnreachable, ErrImageMissing, ErrOutOfMemory, ErrNoSpace, ErrNoSlot} {
		if s := kind.Sentence(); !strings.HasSuffix(s, ".") || kind.Error() == "" {
			t.Errorf("%v: %q", kind, s)
		}
	}
}

func frame(stream byte, text string) string {
	var header [8]byte
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return string(header[:]) + text
}

func TestDemultiplex(t *testing.T) {
	for name, c := range map[string]struct{ in, out, err, fails string }{
		"empty":         {},
		"both":          {in: frame(1, "a") + frame(2, "b") + frame(1, "c"), out: "ac", err: "b"},
		"empty frame":   {in: frame(1, "") + frame(1, "x"), out: "x"},
		"other stream":  {in: frame(0, "a") + frame(9, "b")},
		"service error": {in: frame(3, "oh no"), fails: "oh no"},
		"cut header":    {in: frame(1, "a")[:5], fails: "unexpected EOF"},
		"cut frame":     {in: frame(1, "abc")[:9], out: "a", fails: "unexpected EOF"},
		"huge frame":    {in: "\x01\x00\x00\x00\xff\xff\xff\xff", fails: "frame of"},
	} {
		var stdout, stderr bytes.Buffer
		err := demultiplex(strings.NewReader(c.in), &stdout, &stderr)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		if stdout.String() != c.out || stderr.String() != c.err {
			t.Errorf("%s: %q, %q", name, stdout.String(), stderr.String())
		}
	}
}

func FuzzDemultiplex(f *testing.F) {
	f.Add([]byte(frame(1, "a") + frame(2, "b")))
	f.Fuzz(func(t *testing.T, in []byte) {
		var stdout, stderr bytes.Buffer
		demultiplex(bytes.NewReader(in), &stdout, &stderr)
		if stdout.Len()+stderr.Len() > len(in) {
			t.Error("more came out than was put in")
		}
	})
}

// What boxinit says of an operation tells why it failed.
func TestFailure(t *testing.T) {
	for text, want := range map[string]error{
		"open x: no such file or directory":                                                                    ErrNotFound,
		"write x: no space left on device":                                                                     ErrNoSpace,
		"start sh: fork/exec /bin/sh: resource temporarily unavailable":                                        ErrExhausted,
		"start supervisor: fork/exec /proc/self/exe: resource temporarily unavailable":                         ErrExhausted,
		"lock /var/lib/boxinit/lock: it " + boxinit.Locked + ", for more than 30s":                             ErrLocked,
		"supervisor of run r could not begin: runtime: failed to create new OS thread\nfatal error: newosproc": ErrExhausted,
	} {
		err := failure(boxinit.Reply{Error: text, Missing: errors.Is(want, ErrNotFound)}, "try")
		if !errors.Is(err, want) || strings.Contains(err.Error(), "newosproc") {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	if err := failure(boxinit.Reply{Weak: "it"}, "try"); !errors.Is(err, ErrWeak) {
		t.Error(err)
	}
	if err := failure(boxinit.Reply{Present: "/x"}, "try"); !errors.Is(err, ErrFileExists) {
		t.Error(err)
	}
	if err := failure(boxinit.Reply{Code: 3}, "try"); err != nil {
		t.Error(err)
	}
}

// Somebody who cannot wait until a container has started is told so.
func TestEnsureWhileStarting(t *testing.T) {
	r := NewRooms(nil, zerolog.Nop())
	unlock, err := r.locks.Lock(t.Context(), "!den:localhost")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Ensure(ctx, Spec{Room: "!den:localhost"})
	if said, _ := sentence.Of(err); !strings.Contains(said, "just being started") || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", said, err)
	}
}
