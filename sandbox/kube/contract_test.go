//go:build kube

package kube

import (
	"context"
	"net/http"
	"os"
	"testing"

	"matrix-tui/sandbox/sandboxtest"
)

// A cluster keeps the contract of an engine.
func TestClusterContract(t *testing.T) {
	s := newSite(t)
	sandboxtest.Check(t, sandboxtest.Site{
		Rooms: s.Rooms, Spec: s.specOf, Most: 8, OwnKernel: os.Getenv("SANDBOX_RUNTIME") != "",
		Foreign: func(t *testing.T, name, room string) (there func() bool) {
			return s.foreign(t, s.cluster.sandboxes(""), name, sandboxObject{APIVersion: version, Kind: kind,
				Metadata: s.marked(name, room), Spec: sandboxSpec{OperatingMode: suspended,
					PodTemplate: podTemplate{Spec: object{"containers": []object{{"name": "c", "image": "none"}}}}}})
		},
		ForeignVolume: func(t *testing.T, name string) (there func() bool) {
			foreign := s.cluster.claim(nameOf(name), "")
			foreign.Metadata = s.marked(name, "")
			return s.foreign(t, s.cluster.claims(""), name, foreign)
		},
	})
}

// marked is the metadata of a room's object, "" = no room's.
func (s *site) marked(name, room string) meta {
	m := meta{Name: nameOf(name)}
	if room != "" {
		m.Labels, m.Annotations = map[string]string{labelOwner: owner}, map[string]string{annotationRoom: room}
	}
	return m
}

// foreign creates an object, and removes it after the test.
func (s *site) foreign(t *testing.T, path, name string, in any) (there func() bool) {
	t.Helper()
	var created, now described
	if err := s.cluster.server.call(t.Context(), http.MethodPost, path, in, &created); err != nil {
		t.Fatal(err)
	}
	path += "/" + nameOf(name)
	t.Cleanup(func() {
		if err := s.cluster.server.call(context.Background(), http.MethodDelete, path, nil, nil); err != nil {
			t.Error(err)
		}
	})
	return func() bool {
		err := s.cluster.server.call(t.Context(), http.MethodGet, path, nil, &now)
		return err == nil && now.Metadata.UID == created.Metadata.UID && now.Metadata.Deleted == nil
	}
}
