package sandbox

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/errorhandling"

	"matrix-tui/state/roomname"
)

const (
	// maxPackages bounds what is passed on from a container to its replacement: packages, and a note about the others.
	maxPackages = 300
	// unread is passed on in place of packages that cannot be read. Like other notes, it is in parentheses.
	unread = "(unknown packages: their list could not be read)"
	// maxPackageFile bounds a file of dpkg or apt, in bytes.
	maxPackageFile = 16 << 20
	// maxListed bounds the entries of such a file that are read.
	maxListed = 20_000
	// packageTime bounds the time for reading the packages of a container.
	packageTime = 30 * time.Second

	dpkgStatus = "/var/lib/dpkg/status"
	aptStates  = "/var/lib/apt/extended_states"
)

// packageName is what a package may be called. apt-get would remove a package for an argument that ends in "-".
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}[a-z0-9+.]$`)

// keepPackages passes on the packages that were installed in a container that is to be replaced.
func (e *ensuring) keepPackages(ctx context.Context, data *define.InspectContainerData) error {
	if e.spec.Replacing == nil || e.container.Created { // nothing was installed in a container that never ran
		return nil
	}
	names, err := e.left(ctx, data)
	if err != nil || len(names) == 0 {
		return err
	}
	return e.spec.Replacing(ctx, names)
}

// Packages returns the packages that were installed in a room's container, for another one that Reinstall is called
// for. It stops the container. If there is none, nothing was installed.
func (p *Podman) Packages(ctx context.Context, room, name string) ([]string, error) {
	unlock, err := p.names.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	data, err := p.inspect(ctx, name, room)
	if err != nil {
		if err = explain(err, "inspect container", name); errors.Is(err, ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	e := ensuring{Podman: p, spec: Spec{Room: room, Name: name}}
	return e.left(ctx, data)
}

// left is installed with a note in place of packages that cannot be read. Nothing waits for those: the container may be
// damaged, or hostile.
func (e *ensuring) left(ctx context.Context, data *define.InspectContainerData) ([]string, error) {
	names, err := e.installed(ctx, data)
	switch {
	case errors.Is(err, ErrUnreachable), ctx.Err() != nil:
		return nil, err
	case err != nil:
		e.log.Warn().Err(err).Str("container", e.spec.Name).Str("room", e.spec.Room).Msg("cannot read which packages were installed in the container")
		return []string{unread}, nil
	case len(names) > maxPackages:
		return append(names[:maxPackages-1:maxPackages-1], fmt.Sprintf("(%d more)", len(names)-maxPackages+1)), nil
	}
	return names, nil
}

// installed returns the packages that were installed in a container on request, and that its image does not have, in
// order. It stops the container, because podman reads files reliably only while nothing changes them.
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
	return slices.DeleteFunc(there, func(name string) bool { _, had := slices.BinarySearch(before, name); return had }), nil
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
	err = e.unstarted(ctx, "packages-"+roomname.Whole(e.spec.Room), imageID, func(id string) error {
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

// stanzas yields the first maxListed paragraphs of a file in Debian's format, with the first line of each field that
// matters here.
func stanzas(file []byte) func(yield func(map[string]string) bool) {
	return func(yield func(map[string]string) bool) {
		s, left := map[string]string{}, maxListed
		scan := bufio.NewScanner(bytes.NewReader(file))
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			if scan.Text() == "" {
				if left--; !yield(s) || left == 0 {
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
		var model *errorhandling.ErrorModel
		if errors.As(err, &model) && model.ResponseCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", ErrNotFound, err) // of a file, podman only says so by the code
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
	data := make([]byte, header.Size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, fmt.Errorf("copy %s from container: %w", path, err)
	}
	return data, nil
}
