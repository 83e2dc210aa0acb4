package kube

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// TestRights runs everything that the bot does in a cluster with the rights of the manifests: it needs each of them, and
// no other.
func TestRights(t *testing.T) {
	s := newRuled(t)
	cluster, ctx := s.connect(t), t.Context()
	const room = "!den:example.org"
	spec, id := sandbox.Spec{Room: room, Name: sandbox.NameFor(room), Image: "i:1"}, ""
	ensure := func() error {
		is, err := cluster.Ensure(ctx, spec)
		id = is.ID
		if want, _ := cluster.trap.in(cluster.cfg.strength(spec), "10.0.0.2"); err == nil && is.Strength != want {
			err = fmt.Errorf("the strength is %s, not %s", is.Strength, want)
		}
		return err
	}
	calls := []struct {
		name string
		call func() error
	}{
		{"Ensure", ensure},
		{"Stop", func() error { return cluster.Stop(ctx, spec.Name, room) }},
		{"Ensure", ensure},
		{"room of a token", func() error {
			got, err := reviewer{cluster.server, audience}.room(ctx, "token")
			if err == nil && got != room {
				err = fmt.Errorf("the token is for room %q", got)
			}
			return err
		}},
		{"List", func() error {
			infos, err := cluster.List(ctx)
			if err == nil && (len(infos) != 1 || infos[0].Room != room) {
				err = fmt.Errorf("the sandboxes are %+v", infos)
			}
			return err
		}},
		{"Exec", func() error {
			if _, err := cluster.Exec(ctx, id, sandbox.Process{}); !errors.Is(err, sandbox.ErrUnreachable) {
				return fmt.Errorf("exec: %w", err)
			}
			return nil
		}},
		{"Restart", func() error { return cluster.Restart(ctx, id) }},
		{"Paused", func() error { _, err := cluster.Paused(ctx, id); return err }},
		{"Unpause", func() error { return cluster.Unpause(ctx, id) }},
		{"Usage", func() error { _, err := cluster.Usage(ctx); return err }},
		{"Packages", func() error { _, err := cluster.Packages(ctx, room, spec.Name); return err }},
		{"ImageID", func() error { _, err := cluster.ImageID(ctx, spec.Image); return err }},
		{"Storage", func() error { _, err := cluster.Storage(ctx); return not(err, errElsewhere) }},
		{"Rootless", func() error { _, err := cluster.Rootless(ctx); return err }},
		{"HasVolumes", func() error {
			has, err := cluster.HasVolumes(ctx, room)
			if err == nil && !has {
				err = errors.New("no volumes")
			}
			return err
		}},
		{"VolumeRooms", func() error { _, err := cluster.VolumeRooms(ctx); return err }},
		{"ExportVolumes", func() error { return not(cluster.ExportVolumes(ctx, room, "i:1", io.Discard), errNoCopies) }},
		{"ImportVolumes", func() error {
			return not(cluster.ImportVolumes(ctx, room, "i:1", strings.NewReader(""), true), errNoCopies)
		}},
		{"Remove", func() error { return cluster.Remove(ctx, spec.Name, room, room) }},
		{"Close", func() error { cluster.Close(); return nil }},
	}
	called := map[string]bool{}
	for _, c := range calls {
		called[c.name] = true
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(s.objects) > 0 {
		t.Errorf("what was removed is still there: %v", s.objects)
	}
	for i, engine := 0, reflect.TypeFor[sandbox.Engine](); i < engine.NumMethod(); i++ {
		if name := engine.Method(i).Name; !called[name] {
			t.Errorf("%s is not called: add it here, so that its rights are known", name)
		}
	}
	if diff := cmp.Diff(s.did, s.may); diff != "" {
		t.Errorf("what the bot does (-) is not what it may do (+):\n%s", diff)
	}

	// What doctor says about it.
	known := 0
	for _, r := range rights {
		known += len(r.verbs)
	}
	missing, err := cluster.Check().Missing(ctx)
	if err != nil || len(missing) > 0 || known != len(s.may) {
		t.Errorf("of %d rights, doctor knows %d, and misses %q, %v", len(s.may), known, missing, err)
	}
	if needless, err := cluster.Check().Needless(ctx); err != nil || len(needless) > 0 {
		t.Errorf("doctor finds %q needless, %v", needless, err)
	}
	s.may["get /secrets in the namespace"] = true
	if needless, err := cluster.Check().Needless(ctx); err != nil || !slices.Equal(needless, []string{"get secrets"}) {
		t.Errorf("doctor finds %q needless, %v", needless, err)
	}
	delete(s.may, "patch "+group+"/sandboxes in the namespace")
	if missing, err := cluster.Check().Missing(ctx); err != nil || !slices.Equal(missing, []string{"patch sandboxes"}) {
		t.Errorf("doctor misses %q, %v", missing, err)
	}
}

// not returns err, unless it is the one that a call must return.
func not(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("%w instead of %w", err, want)
}
