package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// kinds are what the names of a room's two claims begin with.
var kinds = [2]string{"workspace-", "home-"}

func (c *Cluster) claims(name string) string {
	return c.api.in("/api/v1", "persistentvolumeclaims", name)
}

// claimsOf returns the names of a room's claims, and creates those that are missing. They are not the Sandbox's own: it
// can be replaced while they stay.
func (c *Cluster) claimsOf(ctx context.Context, room string) (names [2]string, err error) {
	for i, kind := range kinds {
		if names[i], err = c.claimOf(ctx, kind, room); err != nil {
			return names, err
		}
	}
	return names, nil
}

func (c *Cluster) claimOf(ctx context.Context, kind, room string) (string, error) {
	for _, name := range []string{nameOf(kind + roomname.Short(room)), nameOf(kind + roomname.Whole(room))} {
		var there claim
		err := c.api.call(ctx, http.MethodGet, c.claims(name), nil, &there)
		if errors.Is(err, sandbox.ErrNotFound) {
			err = c.api.call(ctx, http.MethodPost, c.claims(""), c.claim(name, room), &there)
		}
		if err != nil && !errors.Is(err, sandbox.ErrNameTaken) {
			return "", fmt.Errorf("create volume claim %s: %w", name, err)
		}
		if there.Metadata.room() == room {
			return name, nil
		}
	}
	return "", fmt.Errorf("volume claims of room %s: %w", room, sandbox.ErrForeign)
}

// claim returns a new claim.
func (c *Cluster) claim(name, room string) claim {
	spec := object{"accessModes": []string{"ReadWriteOnce"},
		"resources": object{"requests": object{"storage": c.cfg.Storage}}}
	if c.cfg.StorageClass != "" {
		spec["storageClassName"] = c.cfg.StorageClass
	}
	return claim{APIVersion: "v1", Kind: "PersistentVolumeClaim", Spec: spec, Metadata: meta{Name: name,
		Labels: map[string]string{labelOwner: owner}, Annotations: map[string]string{annotationRoom: room}}}
}

func (c *Cluster) allClaims(ctx context.Context) (all []claim, err error) {
	if err := each(ctx, c.api, c.claims(""), func(one claim) { all = append(all, one) }); err != nil {
		return nil, fmt.Errorf("list volume claims: %w", err)
	}
	return all, nil
}

// removeClaims removes a room's volumes for good.
func (c *Cluster) removeClaims(ctx context.Context, room string) error {
	all, err := c.allClaims(ctx)
	for _, one := range all {
		if one.Metadata.room() != room {
			continue
		}
		options := object{"preconditions": object{"uid": one.Metadata.UID}}
		if failed := c.api.call(ctx, http.MethodDelete, c.claims(one.Metadata.Name), options, nil); failed != nil &&
			!errors.Is(failed, sandbox.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("remove volume claim %s: %w", one.Metadata.Name, failed))
		}
	}
	return err
}

// HasVolumes reports whether the room has at least one volume.
func (c *Cluster) HasVolumes(ctx context.Context, room string) (bool, error) {
	rooms, err := c.VolumeRooms(ctx)
	for _, one := range rooms {
		if one == room {
			return true, nil
		}
	}
	return false, err
}

// VolumeRooms returns the rooms of all claims, by the claim's name.
func (c *Cluster) VolumeRooms(ctx context.Context) (map[string]string, error) {
	all, err := c.allClaims(ctx)
	rooms := make(map[string]string, len(all))
	for _, one := range all {
		rooms[one.Metadata.Name] = one.Metadata.room()
	}
	return rooms, err
}

// Usage returns nothing: only the nodes know how full volumes are.
func (c *Cluster) Usage(context.Context) (map[string]int64, error) { return nil, nil }
