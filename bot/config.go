package bot

import (
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/task"
	"matrix-tui/bot/update"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/state/transcripts"
)

// Config holds the operator's settings for the account and its tasks.
type Config struct {
	Homeserver  string // base URL of the client-server API
	User        string // full ID or localpart
	Password    string // used for the first login; afterwards the stored token is used
	AccessToken string // instead of a password
	Owners      []string
	Devices     e2ee.Rule    // which devices are trusted
	Proof       policy.Proof // what needs an encrypted message from a verified session, see [proof.Rules]
	Allow       []string     // user IDs and globs such as @*:example.org; empty: the owners
	StateDir    string

	Image  string
	Memory int64 // bytes
	CPUs   float64
	PIDs   int64
	Files  int64 // open files of a process
	// Runtime is the OCI runtime of the containers: see [sandbox.Spec].
	Runtime string

	Idle          time.Duration // a container that has not been used for this long is stopped; 0: never
	MaxContainers int           // how many containers may run; 0: as many as suit the host
	DiskReserve   int64         // bytes of disk without which no task starts; 0: none

	WarmAgents int           // rooms in which an agent waits for the next task
	WarmTime   time.Duration // that it waits after the last sign of life

	TokensPerDay     int64 // of a room; 0 = no limit
	TokensPerDayAll  int64 // of all rooms together; 0 = no limit
	Fresh            policy.Freshness
	Model            string         // a name, or what [models.Moves] describes
	Zone             *time.Location // of rooms without one of their own
	CodingTimeout    time.Duration  // limit for one run of the agent
	QuotaWait        time.Duration  // how long a task waits for its model, in all
	ExecutionTimeout time.Duration  // how long a question stays open, from when it was sent
	NotifyQuestion   bool           // questions mention the requester, and a reminder follows
	NotifyComplete   bool           // results mention the requester and state what they cost
	Debounce         time.Duration  // messages of one person within this time are one task; 0: never
	Archive          time.Duration  // how long the journal keeps finished rows, as context
	MaxParallel      int            // concurrent tasks, in all rooms together
	UpdateWait       time.Duration  // how long an update waits for running tasks
	MediaMax         int64          // maximum size of one file in bytes, incoming and outgoing
	AlertRoom        string         // room for alerts about the host; "": none, unless `!alerts here` sets one
	PageURL          string         // where people reach the page, without a slash at its end; "": there is none
	NoUpdates        string         // why the bot cannot update itself; "": it was not installed from a release
	Version          string
	// Rehearsal ends Run with Ready's error before the first batch of events is stored.
	Rehearsal bool
	// Ready is called once, after the first batch of events is stored and before
	// the bot does anything visible to others; its error stops the bot. It may be
	// nil.
	Ready func() error
	Log   zerolog.Logger
}

// Parts are the components that the bot uses. Their creator closes them after
// [Bot.Run] has returned.
type Parts struct {
	Store       *state.Store
	Journal     *state.Journal
	Transcripts *transcripts.Files
	Podman      *sandbox.Rooms
	Gateway     *gateway.Gateway
	Route       *gemini.Route // to the model
	Models      *models.Models
	Agent       task.Agent
	Recall      *recall.Memory // nil: rooms learn nothing
	Updates     update.Updater // nil if the bot was not installed from a release
}
