package agent

import (
	_ "embed"
	"encoding/json"
)

// preloadScript is for three things that the CLI lacks; liftScript is for what it
// has too much of.
//
// Node writes to a pipe without waiting, and forgets at its exit what the pipe
// had no room for: the end of a long answer and the result, with exit code 0.
//
// When an answer of the model is cut and the CLI asks again, both answers stand
// in the stream with nothing between them: so each request puts a line there,
// with a digest of what is asked. Without it (another release may not use fetch)
// the stream reads as before.
//
// A command that needs a yes is held back where the CLI starts its shell: a line
// in the stream names it, the tool fails, and the next answer of the model is
// one that we give, which ends the run. The CLI has two ways of its own. Its
// policy (0.61.0) takes no pattern with a repeated group, so none that finds
// git -C dir push, drops a rule that it does not take with no more than a word,
// and leaves it to the model to stop. A hook costs a process for each
// command that is run, 4 ms with a shell and 27 with Node. What is here costs 2 µs,
// and takes the command as the shell would get it, from a subagent too.
//
//go:embed preload.cjs
var preloadScript string

// guard is what preloadScript is given.
type guard struct {
	Patterns []string `json:"patterns"`
	Text     string   `json:"text"`
	Said     string   `json:"said"`
}

func preload(approvals []string) []byte {
	data, err := json.Marshal(guard{patterns(approvals), heldText, heldSaid})
	if err != nil {
		panic(err) // strings
	}
	return []byte("const guard = " + string(data) + ";\n" + preloadScript + liftScript)
}
