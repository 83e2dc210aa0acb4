package task

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"matrix-tui/agent"
	"matrix-tui/agent/gemini"
	"matrix-tui/bot/budget"
	"matrix-tui/bot/container"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/transcripts"
)

// Agent runs one task in a container. [agent.Gemini] is the only implementation.
type Agent interface {
	container.Parker
	Run(ctx context.Context, container agent.Container, task agent.Task, emit func(agent.Event)) (agent.Outcome, error)
}

// Counter counts questions, answers and finished tasks for the metrics.
type Counter interface {
	Asked()
	Answered()
	Ended(agent.Ended, state.Usage)
}

// Clock is the time by which questions expire. It does not follow the host's clock when that jumps. It is an interface
// because the homeserver's clock is part of it, which this package does not know.
type Clock interface {
	Now() time.Time
	In(d time.Duration) time.Time // when a time limit that begins now is over
	Shown() time.Time             // what the clocks show: the time for people, and for their schedule
}

// Config contains the operator's settings for tasks.
type Config struct {
	Server string // name of the bot's homeserver; "" before the login
	Tmp    string // directory for files in transfer between rooms and containers

	Fresh            policy.Freshness
	CodingTimeout    time.Duration // limit of one run of the agent
	ExecutionTimeout time.Duration // how long a question waits, from when it appears in the room
	QuotaWait        time.Duration // how long a task waits for its model, in all
	NotifyQuestion   bool          // questions mention the asker, and a reminder follows
	NotifyComplete   bool          // results mention the asker and show the cost
	Debounce         time.Duration // messages of one person within this time become one task
	MediaMax         int64         // largest file in either direction, in bytes
	PageURL          string        // where people reach the page, without a slash at its end; "": there is none
}

// Deps contains what the tasks of all rooms share.
type Deps struct {
	Config
	container.Shared
	Transcripts *transcripts.Files
	Agent       Agent
	Route       *gemini.Route // to the model
	Budget      *budget.Budget
	Recall      *recall.Memory // what rooms have learned; nil = nothing
	Waits       *pending.Schedule
	Count       Counter
	Slots       *semaphore.Weighted // one for each running task
	Transfers   *semaphore.Weighted // one for each task that transfers files
	Clock       Clock
}

// Env is the environment that the tasks of one room share.
type Env struct {
	*Deps
	*container.Sandbox
	ID   string // room ID
	Room Room
	// Decisions is held while a decision about a task is made and stored: whether a
	// message is an answer, what to stop, what to claim. Never call the homeserver or
	// podman while holding it.
	Decisions *sync.Mutex
}

// rules returns the room's policy, with the settings as defaults.
func (e *Env) rules() policy.Room {
	r := e.Rules()
	r.Fresh = r.Fresh.Or(e.Fresh)
	r.Timeout = cmp.Or(r.Timeout, e.CodingTimeout)
	r.QuestionTimeout = cmp.Or(r.QuestionTimeout, e.ExecutionTimeout)
	return r
}
