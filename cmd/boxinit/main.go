// Command boxinit is PID 1 of every sandbox container, and the commands that the
// bot runs in one; see package boxinit.
package main

import (
	"os"

	"matrix-tui/sandbox/boxinit"
)

func main() {
	p := boxinit.Program{
		Dir: boxinit.Dir, Gateway: boxinit.GatewaySocket,
		Self:  []string{"/proc/self/exe"},
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(p.Main(os.Args[1:]))
}
