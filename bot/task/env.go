package task

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"matrix-tui/agent"
	"matrix-tui/bot/policy"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

// Agent does one task in a container. [agent.Gemini] is the one there is; its
// makers may replace it, and others speak ACP.
type Agent interface {
	Run(ctx context.Context, container agent.Container, task agent.Task, emit func(agent.Event)) (agent.Outcome, error)
}

// Counter counts what tasks do.
type Counter interface {
	Asked()
	Answered()
	Ended(agent.Ended, state.Usage)
}

// Config is what the operator decides about tasks.
type Config struct {
	StateDir string
	Tmp      string // the folder of files on their way between rooms and containers
	Version  string

	Image  string
	Memory int64 // bytes
	CPUs   float64
	PIDs   int64

	Model            string
	CodingTimeout    time.Duration // of one run of the agent
	ExecutionTimeout time.Duration // of a question, from when it is in the room
	NotifyQuestion   bool          // questions mention the asker, and are reminded of
	NotifyComplete   bool          // results mention the asker, and tell what they cost
	Debounce         time.Duration // messages of one person so close to each other are one task
	MediaMax         int64         // bytes of one file, in and out
}

// Deps is what the tasks of all rooms work with.
type Deps struct {
	Config
	Journal     *state.Journal
	Store       *state.Store
	Transcripts *state.Transcripts
	Podman      *sandbox.Podman
	Gateway     *gateway.Gateway
	Agent       Agent
	Policy      *policy.Source
	Waits       *Waits
	Count       Counter
	Slots       *semaphore.Weighted // one for each task that may run
	Transfers   *semaphore.Weighted // one for each task that may carry files
	Start       func(func()) bool   // starts a goroutine, unless the bot is going down
	Sentence    func(error) string  // what people are told of an error
	Log         zerolog.Logger
}

// Env is what the tasks of one room share.
type Env struct {
	*Deps
	ID   string // of the room
	Room Room
	// Decisions is held by whoever decides about a task and stores the decision: what is
	// an answer, what stops, what is claimed. No call to the homeserver or to podman
	// is made meanwhile.
	Decisions *sync.Mutex

	projecting sync.Mutex // see project

	// bootstrap is whether /workspace was last seen to have bootstrap files. Most
	// rooms have none, and are not asked before each run: see run.
	bootstrap atomic.Bool
}

// rules are the room's policy, and the settings where it says nothing.
func (e *Env) rules() policy.Room {
	r := e.Policy.Room(e.ID)
	r.Model = cmp.Or(r.Model, e.Model)
	r.Timeout = cmp.Or(r.Timeout, e.CodingTimeout)
	r.QuestionTimeout = cmp.Or(r.QuestionTimeout, e.ExecutionTimeout)
	return r
}
