package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/boxinit"
)

// copyPods are pods that offer connections to a bot, as boxinit does. They have no files, but one text for each room.
type copyPods struct {
	t     *testing.T
	rooms *sandbox.Rooms

	mu    sync.Mutex
	texts map[string]string // by room
	did   []string
	open  map[string]bool // gateways
}

// Open and Shut are the gateway's.
func (c *copyPods) Open(room string) (string, error) { c.set(room, true); return "", nil }
func (c *copyPods) Shut(room string) error           { c.set(room, false); return nil }

func (c *copyPods) set(room string, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[room] == open {
		c.t.Errorf("the gateway of %s is %v already", room, open)
	}
	c.open[room] = open
}

// begin is what a room's pod does.
func (c *copyPods) begin(room string) {
	for range 2 { // operations at most
		ours, theirs := net.Pipe()
		c.rooms.Offer(room, ours, "")
		if err := c.operate(room, theirs); err != nil {
			theirs.Close()
			return // the bot wants nothing more
		}
		theirs.Close()
	}
}

func (c *copyPods) operate(room string, conn net.Conn) error {
	one := make([]byte, 1)
	if _, err := io.ReadFull(conn, one); err != nil {
		return err
	}
	if _, err := conn.Write(one); err != nil {
		return err
	}
	frames := boxinit.NewFrames(conn)
	var asked boxinit.Request
	kind, data, err := frames.Next(1 << 20)
	if err == nil {
		err = boxinit.ReadJSON(data, &asked)
	}
	if err != nil || kind != boxinit.FrameRequest || asked.Command == nil {
		c.t.Errorf("a frame of kind %d, %+v, %v", kind, asked, err)
		return errors.New("no command")
	}
	var input bytes.Buffer
	for {
		kind, data, err := frames.Next(1 << 20)
		if err != nil {
			return err
		}
		n, err := input.ReadFrom(data)
		if err != nil || kind != boxinit.FrameInput {
			return errors.Join(err, errors.New("it is no input"))
		}
		if n == 0 {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	what := strings.Join(asked.Command.Argv[:min(2, len(asked.Command.Argv))], " ")
	c.did = append(c.did, room+": "+what)
	reply := boxinit.Reply{}
	switch {
	case asked.Command.Argv[0] == "find":
		c.texts[room] = ""
	case slices.Contains(asked.Command.Argv, "--create"):
		_, err = frames.Stream(boxinit.FrameStdout).Write([]byte(c.texts[room]))
	case c.texts[room] != "" || input.String() == "broken":
		reply.Code = 2
	default:
		c.texts[room] = input.String()
	}
	return errors.Join(err, frames.WriteJSON(boxinit.FrameReply, reply))
}

// TestCopies copies the volumes of rooms with the rights of the manifests.
func TestCopies(t *testing.T) {
	s := newRuled(t)
	cluster, ctx := s.connect(t), t.Context()
	c := &copyPods{t: t, rooms: sandbox.NewRooms(cluster, zerolog.Nop()), texts: map[string]string{}, open: map[string]bool{}}
	s.began = c.begin
	t.Cleanup(c.rooms.Close)
	cluster.Copies = &Copies{Rooms: c.rooms, Gate: c}
	const den, attic, moved, fresh = "!den:example.org", "!attic:example.org", "!moved:example.org", "!new:example.org"
	ensure := func(spec sandbox.Spec) string {
		t.Helper()
		spec.Name, spec.Image = sandbox.NameFor(spec.Room), "i:1"
		if _, err := cluster.Ensure(ctx, spec); err != nil {
			t.Fatal(err)
		}
		return spec.Name
	}
	ensure(sandbox.Spec{Room: den})
	attics := ensure(sandbox.Spec{Room: attic})
	ensure(sandbox.Spec{Room: moved, VolumesOf: "!before:example.org"})
	c.mu.Lock()
	c.texts[den], c.texts["!before:example.org"] = "walnut", "pecan"
	c.mu.Unlock()
	before, err := cluster.get(ctx, attics, attic)
	if err != nil {
		t.Fatal(err)
	}
	sandboxes := func() (rooms []string) {
		t.Helper()
		infos, err := cluster.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range infos {
			rooms = append(rooms, i.Room)
		}
		slices.Sort(rooms)
		return rooms
	}
	after := func(what string, err, want error, left ...string) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if diff := cmp.Diff(left, sandboxes()); diff != "" {
			t.Errorf("%s: the sandboxes (-want +got):\n%s", what, diff)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for room, open := range c.open {
			if open {
				t.Errorf("%s: the gateway of %s is open", what, room)
			}
		}
	}

	var out bytes.Buffer
	after("export", cluster.ExportVolumes(ctx, den, "i:1", &out), nil, attic, moved)
	after("export of a room whose successor has its volumes", cluster.ExportVolumes(ctx, "!before:example.org", "i:1", &out), nil, attic)
	if out.String() != "walnutpecan" {
		t.Errorf("exported: %q", &out)
	}
	for room, want := range map[string]bool{den: true, "!before:example.org": true, moved: false, fresh: false} {
		if there, err := cluster.HasVolumes(ctx, room); err != nil || there != want {
			t.Errorf("%s has volumes: %v, %v", room, there, err)
		}
	}

	text := func(text string) io.Reader { return strings.NewReader(text) }
	after("import", cluster.ImportVolumes(ctx, fresh, "i:1", text("hazel"), false), nil, attic)
	after("import again", cluster.ImportVolumes(ctx, fresh, "i:1", text("other"), false), sandbox.ErrNotEmpty, attic)
	after("import in its place", cluster.ImportVolumes(ctx, den, "i:1", text("almond"), true), nil, attic)
	broken := errors.New("it broke off")
	after("half an import", cluster.ImportVolumes(ctx, den, "i:1", io.MultiReader(text("alm"), iotest.ErrReader(broken)), true), broken, attic)
	if err := cluster.ImportVolumes(ctx, den, "i:1", text("broken"), true); err == nil || !strings.Contains(err.Error(), "tar ended with code 2") {
		t.Errorf("tar fails: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	after("stopped", cluster.ImportVolumes(stopped, den, "i:1", io.MultiReader(text("alm"), stopping(stop)), true), context.Canceled, attic)
	if now, err := cluster.get(ctx, attics, attic); err != nil || now.Metadata.UID != before.Metadata.UID {
		t.Errorf("another room's sandbox: %+v, %v", now, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]string{den: "", "!before:example.org": "pecan", fresh: "hazel"}
	if diff := cmp.Diff(want, c.texts); diff != "" {
		t.Errorf("the volumes (-want +got):\n%s", diff)
	}
	if want := fresh + ": find /workspace," + fresh + ": tar --extract"; !strings.Contains(strings.Join(c.did, ","), want) {
		t.Errorf("%q was done", c.did)
	}
}

// stopping is a reader that calls a function when it is read.
type stopping func()

func (s stopping) Read([]byte) (int, error) {
	s()
	return 0, io.ErrUnexpectedEOF
}
