package boxinit

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"matrix-tui/sandbox/boxinit/relay"
)

// Exit codes of the commands; 0 means done.
const (
	exitError = 1
	exitUsage = 2
)

// Dir is the folder of the runs in a container.
const Dir = "/var/lib/boxinit"

// Program is boxinit with its surroundings, so that tests can set them.
type Program struct {
	// Dir holds the runs; in a container it is the constant Dir.
	Dir string
	// Gateway is the path of the gateway's socket; in a container it is the constant GatewaySocket.
	Gateway string
	// Self is the command line that starts this program again.
	Self []string
	// Stdin, Stdout and Stderr are the streams of the process.
	Stdin          *os.File
	Stdout, Stderr io.Writer

	network network
}

const usage = `usage: boxinit            as PID 1
       boxinit connect    carries out the bot's operations, on connections to the gateway
       boxinit operate    one operation, on stdin and stdout
       boxinit relay      offers the gateway's socket in a pod, and joins it to the bot's door`

// Main runs one command and returns its exit code. Without arguments it is PID 1 and returns when the container stops.
func (p *Program) Main(args []string) int {
	conceal()
	var err error
	switch command := strings.Join(args, " "); {
	case command == "":
		return p.serve()
	case command == "connect":
		err = p.connect()
	case command == "relay":
		reserveThreads() // the pod's processes have one limit together
		debug.SetGCPercent(25)
		err = relay.Run(p.Gateway, p.Stderr)
	case command == "operate":
		err = p.operate(struct {
			io.Reader
			io.Writer
		}{p.Stdin, p.Stdout}, func(bool) {})
	case len(args) == 2 && args[0] == "supervise":
		if err = CheckID(args[1]); err == nil {
			err = supervise(store{p.Dir}, args[1])
		}
	default:
		fmt.Fprintln(p.Stderr, usage)
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, "boxinit:", err)
		return exitError
	}
	return 0
}
