package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// volumes are the rooms' persistent volume claims.
type volumes struct {
	*api
	class, size string // of new ones
}

// kinds are what the names of a room's two claims begin with.
var kinds = [2]string{"workspace-", "home-"}

func (v volumes) claims(name string) string {
	return v.in("/api/v1", "persistentvolumeclaims", name)
}

// claimsOf returns the names of a room's claims, and creates those that are missing. They are not the Sandbox's own: it
// can be replaced while they stay.
func (v volumes) claimsOf(ctx context.Context, room string) (names [2]string, err error) {
	for i, kind := range kinds {
		if names[i], err = v.claimOf(ctx, kind, room); err != nil {
			return names, err
		}
	}
	return names, nil
}

func (v volumes) claimOf(ctx context.Context, kind, room string) (string, error) {
	name, err := v.find(ctx, kind, room)
	if !errors.Is(err, sandbox.ErrNotFound) {
		return name, err
	}
	err = v.call(ctx, http.MethodPost, v.claims(""), v.claim(name, room), nil)
	if errors.Is(err, sandbox.ErrNameTaken) { // created concurrently
		name, err = v.find(ctx, kind, room)
	}
	if err != nil {
		return "", fmt.Errorf("create volume claim %s: %w", name, err)
	}
	return name, nil
}

// find returns the name of one of the room's claims. ErrNotFound means that there is none, and that the name is free.
// Another room may have the same short name: then it is the one with the whole hash.
func (v volumes) find(ctx context.Context, kind, room string) (string, error) {
	name, whole := nameOf(kind+roomname.Short(room)), nameOf(kind+roomname.Whole(room))
	of, err := v.owner(ctx, name)
	if err == nil && of == room {
		return name, nil
	}
	taken := err == nil
	if !taken && !errors.Is(err, sandbox.ErrNotFound) {
		return "", err
	}
	switch of, other := v.owner(ctx, whole); {
	case other == nil && of == room:
		return whole, nil
	case other == nil:
		return "", fmt.Errorf("volume claims of room %s: %w", room, sandbox.ErrForeign)
	case !errors.Is(other, sandbox.ErrNotFound):
		return "", other
	case taken:
		return whole, other
	}
	return name, err
}

// owner returns whose claim that is.
func (v volumes) owner(ctx context.Context, name string) (room string, err error) {
	var there claim
	if err := v.call(ctx, http.MethodGet, v.claims(name), nil, &there); err != nil {
		return "", fmt.Errorf("read volume claim %s: %w", name, err)
	}
	return there.Metadata.room(), nil
}

// claim returns a new claim.
func (v volumes) claim(name, room string) claim {
	spec := object{"accessModes": []string{"ReadWriteOnce"},
		"resources": object{"requests": object{"storage": v.size}}}
	if v.class != "" {
		spec["storageClassName"] = v.class
	}
	return claim{APIVersion: "v1", Kind: "PersistentVolumeClaim", Spec: spec, Metadata: meta{Name: name,
		Labels: map[string]string{labelOwner: owner}, Annotations: map[string]string{annotationRoom: room}}}
}

func (v volumes) all(ctx context.Context) (all []claim, err error) {
	if err := each(ctx, v.api, v.claims(""), func(one claim) { all = append(all, one) }); err != nil {
		return nil, fmt.Errorf("list volume claims: %w", err)
	}
	return all, nil
}

// removeAll removes a room's volumes for good, and waits until they are gone: a new pod would wait for them in vain.
func (v volumes) removeAll(ctx context.Context, room string) error {
	all, err := v.all(ctx)
	for _, one := range all {
		if one.Metadata.room() != room {
			continue
		}
		path := v.claims(one.Metadata.Name)
		failed := v.call(ctx, http.MethodDelete, path, object{"preconditions": object{"uid": one.Metadata.UID}}, nil)
		if failed == nil {
			failed = v.gone(ctx, path, one.Metadata.UID)
		}
		if failed != nil && !errors.Is(failed, sandbox.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("remove volume claim %s: %w", one.Metadata.Name, failed))
		}
	}
	return err
}

// HasVolumes reports whether the room has at least one volume.
func (v volumes) HasVolumes(ctx context.Context, room string) (bool, error) {
	for _, kind := range kinds {
		if _, err := v.find(ctx, kind, room); !errors.Is(err, sandbox.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// VolumeRooms returns the rooms of all claims, by the claim's name.
func (v volumes) VolumeRooms(ctx context.Context) (map[string]string, error) {
	all, err := v.all(ctx)
	rooms := make(map[string]string, len(all))
	for _, one := range all {
		rooms[one.Metadata.Name] = one.Metadata.room()
	}
	return rooms, err
}

// Usage returns nothing: only the nodes know how full volumes are.
func (volumes) Usage(context.Context) (map[string]int64, error) { return nil, nil }
