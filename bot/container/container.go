// Package container keeps a room's sandbox: it creates and starts the container, lets an agent wait in it for the next
// task, and takes it away. It runs no task and tells the room nothing.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/capacity"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/queue"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// Limits are what a container may use.
type Limits struct {
	Memory int64 // bytes
	CPUs   float64
	PIDs   int64
	Files  int64 // of a process, as far as the host allows it
}

// Shared is what the sandboxes of all rooms share.
type Shared struct {
	Limits
	StateDir string
	Image    string
	Runtime  string         // the OCI runtime: see [sandbox.Spec]
	Model    string         // a setting, see [models.Models]
	Zone     *time.Location // of rooms without one of their own

	Journal *state.Journal
	Store   *state.Store
	Podman  *sandbox.Rooms
	Keeper  *capacity.Keeper
	Gateway *gateway.Gateway
	Models  *models.Models
	Policy  *policy.Source
	Parker  Parker
	Warm    *Warm
	Group   *queue.Group
	Log     zerolog.Logger
}

// Parker starts an agent that waits for its task.
type Parker interface {
	Park(ctx context.Context, container agent.Container, task agent.Task, d time.Duration) (until time.Time, err error)
}

// Sandbox is the sandbox of one room.
type Sandbox struct {
	shared  *Shared
	room    string
	vacancy vacancy

	mu      sync.Mutex
	settled []string // runs whose output is no longer needed

	use       Use       // as last measured
	looked    time.Time // when Used last looked
	measuring bool

	bootstrap atomic.Bool // the container had bootstrap files when last looked at
	noneLeft  atomic.Bool // no ended run has left a process in the container
}

// New returns the sandbox of a room.
func New(shared *Shared, room string) *Sandbox { return &Sandbox{shared: shared, room: room} }

// Rules returns the room's policy, with the settings as defaults.
func (s *Sandbox) Rules() policy.Room {
	r := s.shared.Policy.Room(s.room)
	r.Model = cmp.Or(r.Model, s.shared.Model)
	r.Zone = cmp.Or(r.Zone, s.shared.Zone, time.UTC)
	return r
}

// Ensure creates or starts the room's container. With fresh, it replaces one with an
// outdated image or seccomp profile, or another runtime. Waiting, if it is not nil, is that of a [sandbox.Spec].
func (s *Sandbox) Ensure(ctx context.Context, fresh bool, waiting func(why error)) (*sandbox.Container, error) {
	if _, err := s.shared.Gateway.Open(s.room); err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	name := s.shared.Store.Containers.Of(s.room)
	container, err := s.shared.Podman.Ensure(ctx, sandbox.Spec{
		Room: s.room, Name: name, VolumesOf: s.shared.Store.VolumesOf(s.room),
		Image: s.shared.Image, Runtime: s.shared.Runtime,
		Memory: s.shared.Memory, CPUs: s.shared.CPUs, PIDs: s.shared.PIDs, Files: s.shared.Files,
		Fresh: fresh, Waiting: waiting,
		Replacing: func(ctx context.Context, packages []string) error {
			return s.shared.Store.Packages.Add(ctx, s.room, packages)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("ensure container: %w", err)
	}
	if container.Started {
		s.shared.Keeper.Started()
	}
	if name != container.Name {
		if err := s.shared.Store.Containers.Set(ctx, s.room, container.Name); err != nil {
			s.shared.Log.Warn().Err(err).Str("room", s.room).Msg("cannot save the container name yet")
		}
	}
	return container, nil
}

// Retire removes the room's container. What was installed in it is installed in the next one on the same volumes.
func (s *Sandbox) Retire(ctx context.Context) error {
	name := s.shared.Store.Containers.Of(s.room)
	if name == "" {
		return nil
	}
	packages, err := s.shared.Podman.Packages(ctx, s.room, name)
	if err == nil && len(packages) > 0 {
		err = s.shared.Store.Packages.Add(ctx, s.room, packages)
	}
	if err != nil && !errors.Is(err, sandbox.ErrNameTaken) {
		return fmt.Errorf("keep packages of container %s: %w", name, err)
	}
	if err := s.shared.Podman.Remove(ctx, name, s.room, ""); err != nil {
		return fmt.Errorf("remove container %s: %w", name, err)
	}
	return nil
}

// Name returns the name of the room's container.
func (s *Sandbox) Name() string {
	if name := s.shared.Store.Containers.Of(s.room); name != "" {
		return name
	}
	return sandbox.NameFor(s.room)
}

// Sessions returns the sessions that the room will continue: its own, and those of tasks that wait for an answer
// or have one. It returns nil if that is unknown.
func (s *Sandbox) Sessions(ctx context.Context) []string {
	open, err := s.shared.Journal.Tasks.WaitingIn(ctx, s.room)
	for _, step := range []state.TaskState{state.TaskRunning, state.TaskQueued} {
		more, failed := s.shared.Journal.Tasks.In(ctx, s.room, step)
		open, err = append(open, more...), cmp.Or(err, failed)
	}
	if err != nil {
		return nil
	}
	needed := []string{s.shared.Store.Conversations.Session(s.room)}
	for _, rec := range open {
		needed = append(needed, rec.Session)
	}
	return slices.DeleteFunc(needed, func(session string) bool { return session == "" })
}

// Files returns the files that the run needs: a new task.md, and the two memory files unless they exist.
func Files(text string) []sandbox.File {
	files := []sandbox.File{{Path: workspace.TaskPath, Data: workspace.TaskFile(text), Mode: 0o644}}
	for path, first := range workspace.FirstFiles() {
		files = append(files, sandbox.File{Path: path, Data: []byte(first), Mode: 0o644, New: true})
	}
	return files
}
