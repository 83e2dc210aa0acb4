package sandbox

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
	"golang.org/x/sync/errgroup"
)

// Podman fails to list volumes while some of them are being removed, such as those of many rooms.
func TestVolumesAreListedWhileManyAreRemoved(t *testing.T) {
	p, label := needPodman(t), "test-"+strings.ToLower(rand.Text())
	var names []string
	defer func() {
		for _, name := range names {
			_ = volumes.Remove(p.with(t.Context()), name, nil)
		}
	}()
	for range 60 {
		made, err := volumes.Create(p.with(t.Context()), types.VolumeCreateOptions{Labels: map[string]string{label: "1"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, made.Name)
	}
	var removal errgroup.Group
	gone := make(chan struct{})
	removal.Go(func() error {
		defer close(gone)
		for _, name := range names {
			if err := volumes.Remove(p.with(t.Context()), name, nil); err != nil {
				return err
			}
		}
		return nil
	})
	lists := 0
	for done := false; !done; lists++ {
		select {
		case <-gone:
			done = true
		default:
		}
		if _, err := p.volumes.list(t.Context(), label); err != nil {
			t.Fatalf("list %d: %v", lists, err)
		}
	}
	if err := removal.Wait(); err != nil {
		t.Fatal(err)
	}
	if left, err := p.volumes.list(t.Context(), label); err != nil || len(left) > 0 {
		t.Errorf("left: %d, %v", len(left), err)
	}
}
