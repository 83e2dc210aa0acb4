package agent

import (
	_ "embed"
	"encoding/json"
)

// preloadScript adds nine things that Gemini CLI (0.61.0) lacks, removes a restriction and moves its memory. What is
// the same in every run is changed once, when the image is built: see deploy/image/prepare.cjs. The build also tests
// all of this on its version of the CLI: see deploy/image/selftest.cjs.
//
// Node does not wait when it writes to a pipe, and at exit drops what did not fit into the pipe: the end of a long
// answer and the result, with exit code 0. The script makes these writes blocking.
//
// If an answer of the model is cut and the CLI asks again, the stream contains both answers with nothing in between. So
// the script writes a line before each request, with a digest of it. Without that line (another release may not use
// fetch) the stream reads as before.
//
// The CLI uses models of its own choice for summaries, loop detection, web pages and subagents, takes a newer model for
// some names, and falls back to another one after errors. The gateway allows the configured model only, so the script
// puts its name into every request.
//
// A command that needs approval is intercepted where the CLI starts its shell: a line in the stream names it, the tool
// fails, and the script itself gives the model's next answer, which ends the run. The CLI's own two mechanisms do not
// work here. Its policy (0.61.0) accepts no pattern with a repeated group, so it cannot match git -C dir push; it drops
// a rule that it does not accept with just a warning, and it leaves stopping to the model. A hook costs a process per
// command, 4 ms with a shell and 27 ms with Node. The script costs 2 µs and sees the command as the shell would, also
// from a subagent.
//
// The stream calls a command successful whatever its exit code is. So the script writes a line with the exit code, or
// the signal, of one that failed, before the CLI reports its output.
//
// Before its first request, the CLI connects to the server of the memory's tools and asks for their list: four requests
// that cost 60 ms of processor time, and that a slow server would hold up for long. The bot knows the answers, so the
// script gives them. Calls of the tools do reach the server.
//
// The CLI opens its session's file while it starts, and thereby empties a session that it resumes: a parked run that is
// never used would leave that behind. The script lets it write nothing of a session before it asks the model.
//
// The CLI's own retention would remove sessions that are still needed, so it is off. The script removes the oldest
// sessions instead, with what belongs to them, when the CLI starts: a parked run has done that before its task comes.
// sessionsFile names those that are needed.
//
// After the result, the CLI takes a tenth of a second to end, and nothing of that matters here. The script ends it at
// once.
//
// For commands, the CLI hides the user's and the system's git settings, and turns off credentials, hooks, ssh and
// editors. Nobody could commit, because no author is set. The script gives commands the settings that the container
// has.
//
// The CLI tells the model to remember things in ~/.gemini, where nobody reads them, and sends those files with every
// request. No setting changes that: context.fileName only adds names, and GEMINI_SYSTEM_MD replaces the whole system
// instruction. The script replaces that part of it with memoryText and hides the files. They stay where they are,
// because a room from before may have something in them.
//
//go:embed preload.cjs
var preloadScript string

// historyScript repairs the recording of a session that is resumed. It says how.
//
//go:embed history.cjs
var historyScript string

// backgroundScript lets a process that a command leaves in the background live on.
//
// The CLI waits until nobody has the output of a command open any more: for a server, until the task's time is up. So
// the script ends the command's output soon after its shell has ended. From then on a process of its own reads what the
// server prints, as node's end of the pipe would end with node, and the next line of the server would then kill it. It
// keeps the beginning in a log where the CLI has its own logs of background processes. A command for which the model
// itself asks to run in the background gets such a reader when the CLI ends. If the CLI is killed, it gets none.
//
// While a command prints, the script writes a line to the stream now and then. So a command that prints nothing shows.
//
//go:embed background.cjs
var backgroundScript string

// guard is the input of preloadScript.
type guard struct {
	Patterns []string `json:"patterns"`
	Text     string   `json:"text"`
	Said     string   `json:"said"`
	Model    string   `json:"model"`
	Memory   string   `json:"memory"`

	Server string          `json:"server"` // of the memory's tools
	Tools  json.RawMessage `json:"tools"`  // that it has, or null
}

func preload(t Task, o Offers) []byte {
	about := memoryText
	if o.Memory != nil {
		about += searchText
	}
	data, err := json.Marshal(guard{patterns(t.Approvals), heldText, heldSaid, t.model(), about, proxy + MemoryPath,
		o.Memory})
	if err != nil {
		panic(err) // strings
	}
	return []byte("const guard = " + string(data) + ";\n" + backgroundScript + preloadScript + historyScript)
}
