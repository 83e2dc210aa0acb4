package agent

import "matrix-tui/sandbox"

// maxApproved bounds the output of an approved command, in bytes.
const maxApproved = 1 << 20

// ApprovedRun is the run of a command that a person said yes to: id names it,
// so that it runs once however often it is asked for. It finds what a task's
// commands find; key is the placeholder for the API key. Its errors stand in
// its output, where they came.
func ApprovedRun(id string, h Held, key string) sandbox.RunSpec {
	return sandbox.RunSpec{
		ID: id, Argv: []string{"bash", "-c", `exec bash -c "$1" 2>&1`, "bash", h.Command}, Env: environment(key),
		Dir: h.Dir, MaxOutput: maxApproved,
	}
}
