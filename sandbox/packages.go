package sandbox

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"
)

const (
	// MaxPackages bounds the packages that move from a container to its replacement.
	MaxPackages = 100
	// maxPackageFile bounds a file of dpkg or apt, in bytes.
	maxPackageFile = 32 << 20
	// packageTime bounds the time for reading the packages of a container.
	packageTime = 30 * time.Second

	dpkgStatus = "/var/lib/dpkg/status"
	aptStates  = "/var/lib/apt/extended_states"
)

// packageName is what a package may be called. apt-get would remove a package for an argument that ends in "-".
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}[a-z0-9+.]$`)

// keepPackages passes on the packages that were installed in a container that is to be replaced. A container whose
// packages cannot be read is replaced all the same: it may be damaged, or hostile.
func (e *ensuring) keepPackages(ctx context.Context, data *define.InspectContainerData) error {
	if e.spec.Replacing == nil {
		return nil
	}
	names, err := e.installed(ctx, data)
	switch {
	case errors.Is(err, ErrUnreachable), ctx.Err() != nil:
		return err
	case err != nil:
		e.log.Warn().Err(err).Str("container", e.spec.Name).Str("room", e.spec.Room).Msg("cannot read which packages were installed in the container")
	case len(names) > 0:
		return e.spec.Replacing(ctx, names)
	}
	return nil
}

// installed returns the packages that were installed in a container on request, and that its image does not have: at
// most MaxPackages, in order. It stops the container, because podman reads files reliably only while nothing changes
// them.
func (e *ensuring) installed(ctx context.Context, data *define.InspectContainerData) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, packageTime)
	defer cancel()
	if data.State.Status == "paused" {
		if err := containers.Unpause(e.with(ctx), data.ID, nil); err != nil {
			return nil, explain(err, "unpause container", e.spec.Name)
		}
	}
	if data.State.Running || data.State.Paused {
		if err := containers.Stop(e.with(ctx), data.ID, nil); err != nil {
			return nil, explain(err, "stop container", e.spec.Name)
		}
	}
	there, err := e.requested(ctx, data.ID)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	before, err := e.ofImage(ctx, data.Image)
	if err != nil {
		return nil, err
	}
	there = slices.DeleteFunc(there, func(name string) bool { return slices.Contains(before, name) })
	if len(there) > MaxPackages {
		e.log.Warn().Str("container", e.spec.Name).Str("room", e.spec.Room).Int("packages", len(there)).Int("kept", MaxPackages).Msg("too many packages were installed in the container")
		there = there[:MaxPackages]
	}
	return there, nil
}

// imagePackages are the packages of the image that was asked about last: all rooms leave the same one.
type imagePackages struct {
	sync.Mutex
	image string
	names []string
}

// ofImage returns the packages that an image has on request.
func (e *ensuring) ofImage(ctx context.Context, imageID string) (names []string, err error) {
	known := &e.Podman.packages
	known.Lock()
	defer known.Unlock()
	if known.image == imageID {
		return known.names, nil
	}
	defer func() {
		if err == nil {
			known.image, known.names = imageID, names
		}
	}()
	err = e.unstarted(ctx, "packages-"+slug(e.spec.Room), imageID, func(id string) error {
		names, err = e.requested(ctx, id)
		return err
	})
	return names, err
}

// requested returns the packages in a stopped container that are installed and were not installed just because another
// one needs them, in order. A container without dpkg has none.
func (p *Podman) requested(ctx context.Context, id string) ([]string, error) {
	status, err := p.copyOut(ctx, id, dpkgStatus)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	states, err := p.copyOut(ctx, id, aptStates)
	if err != nil && !errors.Is(err, ErrNotFound) { // absent until apt has installed a dependency
		return nil, err
	}
	return requestedIn(status, states), nil
}

// requestedIn reads dpkg's and apt's files. Whoever controls the container has written them.
func requestedIn(status, states []byte) []string {
	automatic := map[string]bool{}
	for s := range stanzas(states) {
		if s["Auto-Installed"] == "1" {
			automatic[s["Package"]] = true
		}
	}
	var names []string
	for s := range stanzas(status) {
		name := s["Package"]
		if !automatic[name] && strings.HasSuffix(s["Status"], " ok installed") && packageName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stanzas yields the paragraphs of a file in Debian's format, with the first line of each field that matters here.
func stanzas(file []byte) func(yield func(map[string]string) bool) {
	return func(yield func(map[string]string) bool) {
		s := map[string]string{}
		scan := bufio.NewScanner(bytes.NewReader(file))
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			if scan.Text() == "" {
				if !yield(s) {
					return
				}
				s = map[string]string{}
				continue
			}
			switch key, value, _ := strings.Cut(scan.Text(), ":"); key {
			case "Package", "Status", "Auto-Installed":
				s[key] = strings.TrimSpace(value)
			}
		}
		yield(s)
	}
}

// copyOut returns a regular file of a container in which nothing is running.
func (p *Podman) copyOut(ctx context.Context, id, path string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a copy of which the rest is not wanted
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		do, err := containers.CopyToArchive(p.with(ctx), id, path, w)
		if err == nil {
			err = do()
		}
		w.CloseWithError(explain(err, "copy "+path+" from container", id))
	}()
	in := tar.NewReader(r)
	header, err := in.Next()
	if err != nil {
		return nil, fmt.Errorf("copy %s from container: %w", path, err)
	}
	if header.Typeflag != tar.TypeReg || header.Size > maxPackageFile {
		return nil, fmt.Errorf("copy %s from container: not a regular file of at most %d bytes", path, maxPackageFile)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("copy %s from container: %w", path, err)
	}
	return data, nil
}
