package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	one, err := v.find(ctx, kind, room)
	name := one.Metadata.Name
	switch {
	case err == nil && one.Metadata.Deleted != nil: // its volume goes with it
		err = v.gone(ctx, v.claims(name), one.Metadata.UID)
	case err == nil && (one.Status.Phase != "Pending" || one.Metadata.Annotations[annotationAsked] == v.asked()):
		return name, nil
	case err == nil: // no volume was found for it, and now something else is set
		err = v.remove(ctx, one, object{"resourceVersion": one.Metadata.Version})
	case errors.Is(err, sandbox.ErrNotFound):
		err = nil
	}
	if err != nil {
		return "", err
	}
	err = v.call(ctx, http.MethodPost, v.claims(""), v.claim(name, room), nil)
	if errors.Is(err, sandbox.ErrNameTaken) { // created concurrently
		one, err = v.find(ctx, kind, room)
		name = one.Metadata.Name
	}
	if err != nil {
		return "", fmt.Errorf("create volume claim %s: %w", name, err)
	}
	return name, nil
}

// remove removes a claim for good, and waits until it is gone: a new pod would wait for it in vain. Unless is what must
// not have changed besides its UID.
func (v volumes) remove(ctx context.Context, one claim, unless object) error {
	path, same := v.claims(one.Metadata.Name), object{"uid": one.Metadata.UID}
	maps.Copy(same, unless)
	err := v.call(ctx, http.MethodDelete, path, object{"preconditions": same}, nil)
	if err == nil {
		err = v.gone(ctx, path, one.Metadata.UID)
	}
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("remove volume claim %s: %w", one.Metadata.Name, err)
	}
	return nil
}

// find returns one of the room's claims. ErrNotFound means that there is none, and that the name in it is free.
// Another room may have the same short name: then it is the one with the whole hash.
func (v volumes) find(ctx context.Context, kind, room string) (claim, error) {
	one, err := v.read(ctx, kind+roomname.Short(room))
	if err == nil && one.Metadata.room() == room {
		return one, nil
	}
	taken := err == nil
	if !taken && !errors.Is(err, sandbox.ErrNotFound) {
		return claim{}, err
	}
	switch whole, other := v.read(ctx, kind+roomname.Whole(room)); {
	case other == nil && whole.Metadata.room() == room:
		return whole, nil
	case other == nil:
		return claim{}, fmt.Errorf("volume claims of room %s: %w", room, sandbox.ErrForeign)
	case !errors.Is(other, sandbox.ErrNotFound):
		return claim{}, other
	case taken:
		return whole, other
	}
	return one, err
}

// read reads a claim. One that does not exist has only its name.
func (v volumes) read(ctx context.Context, name string) (one claim, err error) {
	one.Metadata.Name = nameOf(name)
	if err := v.call(ctx, http.MethodGet, v.claims(name), nil, &one); err != nil {
		return one, fmt.Errorf("read volume claim %s: %w", name, err)
	}
	return one, nil
}

// claim returns a new claim.
func (v volumes) claim(name, room string) claim {
	spec := object{"accessModes": []string{"ReadWriteOnce"},
		"resources": object{"requests": object{"storage": v.size}}}
	if v.class != "" {
		spec["storageClassName"] = v.class
	}
	return claim{APIVersion: "v1", Kind: "PersistentVolumeClaim", Spec: spec, Metadata: meta{Name: name,
		Labels:      map[string]string{labelOwner: owner},
		Annotations: map[string]string{annotationRoom: room, annotationAsked: v.asked()}}}
}

// asked is what new claims ask for.
func (v volumes) asked() string { return v.size + " " + v.class }

func (v volumes) all(ctx context.Context) (all []claim, err error) {
	if err := each(ctx, v.api, v.claims(""), func(one claim) { all = append(all, one) }); err != nil {
		return nil, fmt.Errorf("list volume claims: %w", err)
	}
	return all, nil
}

// removeAll removes a room's volumes for good.
func (v volumes) removeAll(ctx context.Context, room string) error {
	all, err := v.all(ctx)
	for _, one := range all {
		if one.Metadata.room() == room {
			err = errors.Join(err, v.remove(ctx, one, nil))
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
