package kube

import (
	"errors"
	"testing"

	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// A claim keeps its room, also if another room had its name first and is gone.
func TestClaimNames(t *testing.T) {
	s := newRuled(t)
	cluster, ctx := s.connect(t), t.Context()
	const den, other = "!den:example.org", "!other:example.org"
	short, whole := nameOf(kinds[0]+roomname.Short(den)), nameOf(kinds[0]+roomname.Whole(den))
	path := func(name string) string {
		return "/api/v1/namespaces/" + s.namespace + "/persistentvolumeclaims/" + name
	}
	put := func(name, room string) {
		s.put(path(name), map[string]any{"kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": name,
			"labels": map[string]any{labelOwner: owner}, "annotations": map[string]any{annotationRoom: room}}})
	}
	for _, step := range []struct {
		what string
		do   func()
		name string
		err  error
	}{
		{"new", func() {}, short, sandbox.ErrNotFound},
		{"the short name is taken", func() { put(short, other) }, whole, sandbox.ErrNotFound},
		{"it has the whole name", func() { put(whole, den) }, whole, nil},
		{"the short name is free again", func() { delete(s.objects, path(short)) }, whole, nil},
		{"it has the short name, too", func() { put(short, den) }, short, nil},
		{"both are taken", func() { put(short, other); put(whole, other) }, "", sandbox.ErrForeign},
	} {
		step.do()
		one, err := cluster.find(ctx, kinds[0], den)
		if name := one.Metadata.Name; name != step.name || !errors.Is(err, step.err) {
			t.Errorf("%s: %q, %v; want %q, %v", step.what, name, err, step.name, step.err)
		}
	}
}
