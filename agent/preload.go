package agent

import (
	_ "embed"
	"encoding/json"
)

// preloadScript changes what Gemini CLI (0.61.0) does in each run. What is the same in every run is changed once, when
// the image is built: see deploy/image/prepare.cjs. The build also tests all of this on its version of the CLI: see
// deploy/image/selftest.cjs.
//
//   - Node drops output that did not fit into a pipe at exit: the script makes writes block.
//   - A line before each request, with a digest of it, tells an answer that was cut from the one that follows it.
//   - The CLI also uses models of its own choice, and the gateway allows the configured one only: the script puts its
//     name into every request.
//   - A command that needs approval is stopped where the CLI starts its shell, also in a subagent: a line names it, the
//     tool fails, and the script gives the model's next answer, which ends the run. The CLI's policy accepts no pattern
//     with a repeated group, and a hook costs a process per command.
//   - The stream calls every command successful: a line has the exit code, or the signal, of one that failed.
//   - The script answers the CLI's questions about the room's tools at its start. Calls do reach the server.
//   - A parked run that is never used writes nothing of a session: the CLI would empty the one that it resumes.
//   - The CLI's retention would remove sessions that are needed, so the script removes the oldest others at the
//     start: see sessionsFile.
//   - After the result, it ends the CLI at once.
//   - The CLI hides the container's git settings from commands, and so nobody could commit: the script gives them
//     back.
//   - The CLI tells the model to remember things in ~/.gemini, where nobody reads them, and no setting changes that:
//     the script puts memoryText in its place, and hides the files.
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
// server prints, which would otherwise end with node, and keeps the beginning in a log. While a command prints, the
// script writes a line to the stream now and then. So a command that prints nothing shows.
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

	Server string          `json:"server"` // of the room's tools
	Tools  json.RawMessage `json:"tools"`  // that it has, or null
}

func preload(t Task, o Offers) []byte {
	about := memoryText
	if o.Remembers {
		about += searchText
	}
	data, err := json.Marshal(guard{patterns(t.Approvals), heldText, heldSaid, t.model(), about, proxy + ToolsPath,
		o.Tools})
	if err != nil {
		panic(err) // strings
	}
	return []byte("const guard = " + string(data) + ";\n" + backgroundScript + preloadScript + historyScript)
}
