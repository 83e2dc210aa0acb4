package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox/boxinit/relay"
)

// at returns the map at a path in an object.
func at(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object = object[key].(map[string]any)
	}
	return object
}

// Each of these is a token that a pod without a room, or of another one, could show.
func TestRefusals(t *testing.T) {
	const extra = "authentication.kubernetes.io/"
	type object = map[string]any
	claims := object{"io.matrix-tui.room": otherRoom}
	owner := func(pod object) object { return at(pod, "metadata")["ownerReferences"].([]any)[0].(object) }
	for name, c := range map[string]struct {
		token  string
		change func(review, pod, box object)
		reason string
	}{
		"forged":    {"forged." + theToken, nil, "the cluster does not know the token"},
		"not asked": {"", func(r, _, _ object) { r["authenticated"] = false }, "the cluster does not know the token"},
		"audience": {"", func(r, _, _ object) {
			r["audiences"] = []any{"https://kubernetes"}
		}, "the token is for somebody else"},
		"no audience": {"", func(r, _, _ object) { delete(r, "audiences") }, "the token is for somebody else"},
		"another account": {"", func(r, _, _ object) {
			at(r, "user")["username"] = "system:serviceaccount:rooms:default"
		}, "the token is not one of a room's pod"},
		"longer account": {"", func(r, _, _ object) {
			at(r, "user")["username"] = "system:serviceaccount:rooms:matrix-tui-sandbox2"
		}, "the token is not one of a room's pod"},
		"another namespace": {"", func(r, _, _ object) {
			at(r, "user")["username"] = "system:serviceaccount:theirs:matrix-tui-sandbox"
		}, "the token is not one of a room's pod"},
		"no extra": {"", func(r, _, _ object) { delete(at(r, "user"), "extra") }, "the token does not belong to a pod"},
		"no UID": {"", func(r, _, _ object) {
			delete(at(r, "user", "extra"), extra+"pod-uid")
		}, "the token does not belong to a pod"},
		"two pods": {"", func(r, _, _ object) {
			at(r, "user", "extra")[extra+"pod-name"] = []any{"den", "other"}
		}, "the token does not belong to a pod"},
		"a path": {"", func(r, _, _ object) {
			at(r, "user", "extra")[extra+"pod-name"] = []any{"../pods/den"}
		}, "the token does not belong to a pod"},
		"no such pod": {"", func(r, _, _ object) {
			at(r, "user", "extra")[extra+"pod-name"] = []any{"gone"}
		}, "the token's pod does not exist"},
		"replaced pod": {"", func(_, p, _ object) { at(p, "metadata")["uid"] = "pod-2" }, "the pod has been replaced"},
		"no room":      {"", func(_, p, _ object) { delete(at(p, "metadata"), "annotations") }, "the pod names no room"},
		"long room": {"", func(_, p, b object) {
			long := object{"io.matrix-tui.room": strings.Repeat("x", 256)}
			at(p, "metadata")["annotations"], at(b, "metadata")["annotations"] = long, long
		}, "the pod names no room"},
		"pod of nobody": {"", func(_, p, _ object) {
			delete(at(p, "metadata"), "ownerReferences")
		}, "the pod has no owner"},
		"not its controller": {"", func(_, p, _ object) { owner(p)["controller"] = false }, "the pod has no owner"},
		"another kind": {"", func(_, p, _ object) {
			owner(p)["kind"] = "ReplicaSet"
		}, "the pod's owner is not its Sandbox"},
		"another group": {"", func(_, p, _ object) {
			owner(p)["apiVersion"] = "agents.x-k8s.io.evil/v1"
		}, "the pod's owner is not its Sandbox"},
		"another's Sandbox": {"", func(_, p, _ object) {
			owner(p)["name"] = "other"
		}, "the pod's owner is not its Sandbox"},
		"forged owner": {"", func(_, p, _ object) {
			owner(p)["uid"] = "box-2"
		}, "the pod belongs to another Sandbox"},
		"no UIDs": {"", func(_, p, b object) {
			owner(p)["uid"] = ""
			at(b, "metadata")["uid"] = ""
		}, "the pod belongs to another Sandbox"},
		"another room": {"", func(_, p, _ object) {
			at(p, "metadata")["annotations"] = claims
		}, "the pod names another room than its Sandbox"},
		"without a Sandbox": {"", func(_, p, b object) {
			at(p, "metadata")["annotations"] = claims
			clear(b)
		}, "the pod belongs to another Sandbox"},
		"nothing wrong": {theToken, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			token, want := theToken, "refused"
			if c.token != "" {
				token = c.token
			}
			if c.reason == "" {
				want = "welcome"
			}
			w.change(func() {
				if c.change != nil {
					c.change(w.review, w.objects[podPath], w.objects[boxPath])
				}
			})
			if got := w.answer(token + "\n"); got != want {
				t.Errorf("the answer is %s", got)
			}
			if !strings.Contains(w.logs.String(), c.reason) {
				t.Errorf("the log is %s", w.logs)
			}
			if got := w.told(); c.reason != "" && got != (told{refused: 1}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The Sandbox that a pod claims must exist.
func TestSandboxGone(t *testing.T) {
	w := newWorld(t)
	w.change(func() { delete(w.objects, boxPath) })
	if got := w.answer(theToken + "\n"); got != "refused" || !strings.Contains(w.logs.String(), "Sandbox does not exist") {
		t.Errorf("%s: %s", got, w.logs)
	}
}

// What is no token is not sent to the API server.
func TestTokenLine(t *testing.T) {
	w := newWorld(t, func(d *Door) { d.tokenTime = time.Second })
	long := strings.Repeat("x", relay.MaxToken-1)
	for name, c := range map[string]struct{ line, want string }{
		"longest":   {long + "\n", "refused"},
		"too long":  {long + "x\n", "refused"},
		"no end":    {long + long, "refused"},
		"empty":     {"\n", "refused"},
		"HTTP":      {"GET / HTTP/1.1\r\n", "refused"},
		"two lines": {theToken + "\n" + theToken + "\n", "refused"},
		"more":      {theToken + "\nGET", "refused"},
		"slow":      {theToken, "nothing"}, // without an end
	} {
		if got := w.answer(c.line); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := w.reviews(); len(got) != 1 || got[0] != long {
		t.Errorf("%d tokens were reviewed", len(got))
	}
	conn := w.dial()
	for _, piece := range []string{theToken[:1], theToken[1:20], theToken[20:], "\n"} {
		io.WriteString(conn, piece)
	}
	if got := heard(conn); got != "welcome" {
		t.Errorf("in pieces: %s", got)
	}
	conn = w.dial()
	io.WriteString(conn, theToken)
	conn.CloseWrite()
	if got := heard(conn); got != "nothing" {
		t.Errorf("cut off: %s", got)
	}
}

// No version of TLS but 1.3 is spoken.
func TestOldTLS(t *testing.T) {
	w := newWorld(t)
	old, err := tls.Dial("tcp", w.address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err == nil {
		old.Close()
		t.Error("TLS 1.2 is spoken")
	}
}

// If the gateway of the room does not open, the relay comes again.
func TestGatewayAway(t *testing.T) {
	w := newWorld(t, func(d *Door) {
		d.join = func(context.Context, string) (net.Conn, error) { return nil, errors.New("closed") }
	})
	if got := w.answer(theToken + "\n"); got != "nothing" || w.told() != (told{failed: 1}) {
		t.Errorf("%s, %+v", got, w.told())
	}
}

// A room may have only so many connections, and they count until they end.
func TestRoomIsFull(t *testing.T) {
	other, end := net.Pipe()
	defer end.Close()
	w := newWorld(t, func(d *Door) { d.join = func(context.Context, string) (net.Conn, error) { return other, nil } })
	for range maxLines {
		w.door.lines.enter(denRoom)
	}
	if got := w.answer(theToken + "\n"); got != "nothing" {
		t.Errorf("the answer is %s", got)
	}
	w.door.lines.leave(denRoom)
	conn := w.dial()
	io.WriteString(conn, theToken+"\n")
	if got := heard(conn); got != "welcome" {
		t.Errorf("the answer is %s", got)
	}
	conn.Close()
	w.wait("end", func() bool { return w.joined() == maxLines-1 })
	for range maxLines - 1 {
		w.door.lines.leave(denRoom)
	}
}

func TestLines(t *testing.T) {
	l := lines{of: map[string]int{}}
	enter := func(room string, n int) (entered int) {
		for range n {
			if _, ok := l.enter(room); ok {
				entered++
			}
		}
		return entered
	}
	for _, room := range []string{"a", "b", "c", "d"} {
		if got := enter(room, 1000); got != maxLines {
			t.Errorf("%s: %d", room, got)
		}
	}
	if got := enter("e", 1000); got != ownLines+allLines-4*(maxLines-ownLines) {
		t.Errorf("what is left: %d", got)
	}
	if got := enter("f", 1000); got != ownLines {
		t.Errorf("its own: %d", got)
	}
	for room, n := range map[string]int{"a": maxLines, "b": maxLines, "c": maxLines, "d": maxLines,
		"e": ownLines + allLines - 4*(maxLines-ownLines), "f": ownLines} {
		for range n {
			l.leave(room)
		}
	}
	if l.common != 0 || len(l.of) != 0 {
		t.Errorf("%+v", &l)
	}
}
