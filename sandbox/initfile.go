package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"matrix-tui/bot/crash"
	"matrix-tui/state/roomname"
)

const (
	// imageInit is boxinit in an image. Root in the container could replace it there.
	imageInit = "/usr/bin/boxinit"
	// initMount is where a container has a copy that is mounted from the host, read-only. It is in the root folder,
	// because any other folder above a mount can be renamed.
	initMount = "/boxinit"
	// keptInits is how many copies are kept, each of one image.
	keptInits = 8
)

// initFile returns the host's copy of an image's boxinit, "" = containers use the one in the image. What a container
// runs thus stays what the image's builder has put there, for this processor, whatever the container does. room
// only names the temporary container.
func (p *Podman) initFile(ctx context.Context, dir, imageID, room string) (string, error) {
	if dir == "" {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create folder for boxinit: %w", err)
	}
	if !executable(dir) {
		p.warnOnce(dir, "no program can be executed from the state folder (noexec): containers use the boxinit of their "+
			"image, which root in a container can replace")
		return "", nil
	}
	unlock, err := p.asking.Lock(ctx, "boxinit")
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, imageID[:min(len(imageID), 16)])
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	var data []byte
	err = p.ofImage(ctx, "boxinit-"+roomname.Whole(room), imageID, func(id string) error {
		data, err = p.copyOut(ctx, id, imageInit)
		return err
	})
	if err != nil {
		return "", err
	}
	crash.Count("write boxinit")
	if err := renameio.WriteFile(path, data, 0o555, renameio.IgnoreUmask()); err != nil {
		return "", fmt.Errorf("store boxinit: %w", err)
	}
	dropOld(dir)
	return path, nil
}

// dropOld removes all but the newest copies. A container whose copy is gone, and that has stopped, is created again.
func dropOld(dir string) {
	entries, _ := os.ReadDir(dir)
	written := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return written(b).Compare(written(a)) })
	for _, old := range entries[min(len(entries), keptInits):] {
		crash.Count("remove old boxinit")
		_ = os.Remove(filepath.Join(dir, old.Name()))
	}
}

// executable reports whether programs in a folder can be executed.
func executable(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) != nil || fs.Flags&unix.ST_NOEXEC == 0
}

// initOf returns the path of boxinit in a container.
func initOf(data *define.InspectContainerData) string {
	if mountOf(data, initMount) != "" {
		return initMount
	}
	return imageInit
}

// mountOf returns what of the host is mounted there, "" = nothing.
func mountOf(data *define.InspectContainerData, destination string) string {
	for _, m := range data.Mounts {
		if m.Destination == destination {
			return m.Source
		}
	}
	return ""
}
