package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"matrix-tui/sandbox/boxinit"
)

const (
	// maxPackages bounds what is passed on from a container to its replacement: packages, and a note about the others.
	maxPackages = 300
	// unread is passed on in place of packages that cannot be read. Like other notes, it is in parentheses.
	unread = "(unknown packages: their list could not be read)"
	// maxListed bounds the entries of such a file that are read.
	maxListed = 20_000
	// packageTime bounds the time for reading the packages of a container.
	packageTime = 30 * time.Second
)

// packageName is what a package may be called. apt-get would remove a package for an argument that ends in "-".
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}[a-z0-9+.]$`)

// keepPackages passes on the packages that were installed in a container that is to be replaced.
func (e *ensuring) keepPackages(ctx context.Context, data *define.InspectContainerData) error {
	if e.spec.Replacing == nil || e.is.Created { // nothing was installed in a container that never ran
		return nil
	}
	names, err := e.left(ctx, data)
	if err != nil || len(names) == 0 {
		return err
	}
	return e.spec.Replacing(ctx, names)
}

// Packages returns the packages that were installed in a room's container: see [Rooms.Packages].
func (p *Podman) Packages(ctx context.Context, room, name string) ([]string, error) {
	data, err := p.inspect(ctx, name, room)
	if err = explain(err, "inspect container", name); errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.left(ctx, data)
}

// left is installed with a note in place of packages that cannot be read. Nothing waits for those: the container may be
// damaged, or hostile.
func (s *service) left(ctx context.Context, data *define.InspectContainerData) ([]string, error) {
	names, err := s.installed(ctx, data)
	switch {
	case errors.Is(err, ErrUnreachable), ctx.Err() != nil:
		return nil, err
	case err != nil:
		s.log.Warn().Err(err).Str("container", data.Name).Msg("cannot read which packages were installed in the container")
		return []string{unread}, nil
	}
	return atMost(names), nil
}

// installed returns the packages that were installed in a container on request, and that its image does not have, in
// order. It stops the container, because podman reads files reliably only while nothing changes them.
func (s *service) installed(ctx context.Context, data *define.InspectContainerData) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, packageTime)
	defer cancel()
	if err := s.halt(ctx, data); err != nil {
		return nil, err
	}
	there, err := s.requested(ctx, data.ID)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	var before []string
	err = s.ofImage(ctx, "packages-"+data.Name, data.Image, func(id string) error {
		before, err = s.requested(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return without(there, before), nil
}

// requested returns the packages in a stopped container that are installed and were not installed just because another
// one needs them, in order. A container without dpkg has none.
func (s *service) requested(ctx context.Context, id string) ([]string, error) {
	status, err := s.copyOut(ctx, id, boxinit.DpkgStatus)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	states, err := s.copyOut(ctx, id, boxinit.AptStates)
	if err != nil && !errors.Is(err, ErrNotFound) { // absent until apt has installed a dependency
		return nil, err
	}
	return requestedIn(status, states), nil
}

// keepLost passes on the packages that were installed on request in the pod before this one, and that this one does not
// have, with a note in place of those that cannot be read: the pod may be hostile.
func (c *Container) keepLost(ctx context.Context, keep func(context.Context, []string) error) error {
	before, err := c.requested(ctx, boxinit.ListsBefore)
	if err == nil && len(before) == 0 {
		return nil
	}
	var now []string
	if err == nil {
		now, err = c.requested(ctx, "")
	}
	names := atMost(without(before, now))
	switch {
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrNotRunning), ctx.Err() != nil:
		return err
	case err != nil:
		c.log.Warn().Err(err).Str("container", c.Name).Msg("cannot read which packages were installed in the container")
		names = []string{unread}
	}
	if len(names) > 0 {
		if err := keep(ctx, names); err != nil {
			return err
		}
	}
	_, err = c.Exec(ctx, Cmd{Argv: []string{"rm", "-rf", boxinit.ListsBefore}, Dir: "/"})
	return err
}

// requested reads lists of packages in a container, or copies of them below a folder.
func (c *Container) requested(ctx context.Context, folder string) ([]string, error) {
	var lists [2][]byte
	for i, path := range []string{boxinit.DpkgStatus, boxinit.AptStates} {
		list, err := c.ReadFile(ctx, folder+path, boxinit.MaxList)
		switch {
		case errors.Is(err, ErrNotFound) && i == 0:
			return nil, nil
		case err != nil && !errors.Is(err, ErrNotFound):
			return nil, err
		}
		lists[i] = list
	}
	return requestedIn(lists[0], lists[1]), nil
}

// without returns the names that are not among others, which are in order.
func without(names, others []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { _, has := slices.BinarySearch(others, name); return has })
}

// atMost returns the first names, and a note about the others.
func atMost(names []string) []string {
	if len(names) > maxPackages {
		return append(names[:maxPackages-1:maxPackages-1], fmt.Sprintf("(%d more)", len(names)-maxPackages+1))
	}
	return names
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
