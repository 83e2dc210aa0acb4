// Package workspace defines what is in a room's /workspace and what the agent is
// told about it: the layout, the initial files, the prompt, the lines of the
// status log. It is pure text and paths: it never reads, writes or runs
// anything, and it never fails.
package workspace

// Paths in the container.
const (
	Dir         = "/workspace"
	ContextPath = Dir + "/context.md"  // accumulated learnings; the agent reads and adds
	StatusPath  = Dir + "/status.md"   // append-only log of what each task did
	MemoryPath  = Dir + "/MEMORY.md"   // facts, preferences and decisions; the bot adds, people and the agent may edit
	LogsPath    = Dir + "/memory"      // folder of the daily logs, which the bot writes
	TaskPath    = Dir + "/task.md"     // the current task as it was written
	InboxPath   = Dir + "/inbox"       // folder of the files that came with tasks
	OutboxPath  = Dir + "/outbox"      // folder of the files to be sent to the room
	SentPath    = OutboxPath + "/sent" // folder of the files that were sent
)

// Sections of context.md, which the bot adds with the first line in the second one.
const (
	Conventions = "Conventions discovered" // the agent adds them
	PriorTasks  = "Prior tasks"            // the bot adds a line for each task that did something
)

// Initial contents of the files that are written once and never overwritten.
const (
	FirstContext = "# Context\n"
	FirstStatus  = "# Status Log\n"
)

// FirstFiles returns path and initial content of each file in a new workspace. Whoever
// writes the first file in a folder creates the folder.
func FirstFiles() map[string]string {
	return map[string]string{ContextPath: FirstContext, StatusPath: FirstStatus}
}
