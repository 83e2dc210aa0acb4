package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"matrix-tui/sandbox"
)

// What the pod of a copy may use, and how long it may take to end.
const (
	copyMemory = 512 << 20
	copyCPUs   = 1
	copyEnd    = 2 * goneTime // with what the API server takes
)

// Copies are for a process that copies volumes, one room after the other. It is the door of the pods that do it, so no
// bot may run meanwhile.
type Copies struct {
	Rooms *sandbox.Rooms // of the Cluster
	Gate  interface {    // to where the pods' connections are offered to Rooms
		Open(room string) (dir string, err error)
		Shut(room string) error
	}

	listed bool            // before is known
	before []sandboxObject // those that were there at first
}

var errNoCopies = errors.New("only a process that is the door of their pods copies volumes in a cluster")

// ExportVolumes is [sandbox.Engine.ExportVolumes]. The room's pod ends, and with it what runs there.
func (c *Cluster) ExportVolumes(ctx context.Context, room, image string, w io.Writer) error {
	return c.copied(ctx, room, image, func(pod *sandbox.Container) error { return sandbox.PackVolumes(ctx, pod, w) })
}

// ImportVolumes is [sandbox.Engine.ImportVolumes].
func (c *Cluster) ImportVolumes(ctx context.Context, room, image string, r io.Reader, replace bool) error {
	there, err := c.HasVolumes(ctx, room)
	if err != nil {
		return err
	}
	if there && !replace {
		return fmt.Errorf("fill the volumes of %s: %w", room, sandbox.ErrNotEmpty)
	}
	return c.copied(ctx, room, image, func(pod *sandbox.Container) error { return sandbox.UnpackVolumes(ctx, pod, r) })
}

// copied calls do with a new pod on the room's volumes, in which nothing has run, and removes it afterwards. The bot
// creates the room's Sandbox again with its next task.
func (c *Cluster) copied(ctx context.Context, room, image string, do func(*sandbox.Container) error) (err error) {
	if c.Copies == nil {
		return errNoCopies
	}
	if err := c.release(ctx, room); err != nil {
		return err
	}
	if _, err := c.Copies.Gate.Open(room); err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyEnd)
		defer cancel()
		err = errors.Join(err, c.Copies.Rooms.Remove(ending, sandbox.NameFor(room), room, ""), c.Copies.Gate.Shut(room))
	}()
	pod, err := c.Copies.Rooms.Ensure(ctx, sandbox.Spec{Room: room, Image: image, Memory: copyMemory, CPUs: copyCPUs})
	if err != nil {
		return err
	}
	return do(pod)
}

// release deletes each Sandbox that has the room's volumes, and waits for the end of its pod: another node could not
// attach them, and an agent could change them meanwhile. After a room upgrade, it is that of the new room.
func (c *Cluster) release(ctx context.Context, room string) error {
	claims, err := c.claimsOf(ctx, room)
	if err != nil {
		return err
	}
	if !c.Copies.listed {
		var all []sandboxObject
		if err := each(ctx, c.server, c.sandboxes(""), func(s sandboxObject) { all = append(all, s) }); err != nil {
			return fmt.Errorf("list sandboxes: %w", err)
		}
		c.Copies.before, c.Copies.listed = all, true
	}
	for _, s := range c.Copies.before {
		if slices.ContainsFunc(claims[:], s.has) {
			if err := c.delete(ctx, s); err != nil {
				return fmt.Errorf("end the pod that has the volumes of %s: %w", room, err)
			}
		}
	}
	return nil
}
