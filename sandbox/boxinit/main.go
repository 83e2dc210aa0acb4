package boxinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Exit codes of the commands; 0 means done.
const (
	exitError    = 1
	exitUsage    = 2
	exitNotFound = 3
)

// Dir is the folder of the runs in a container.
const Dir = "/var/lib/boxinit"

// Program is boxinit with its surroundings, so that tests can set them.
type Program struct {
	// Dir holds the runs; in a container it is the constant Dir.
	Dir string
	// Self is the command line that starts this program again.
	Self []string
	// Stdin, Stdout and Stderr are the streams of the process.
	Stdin          *os.File
	Stdout, Stderr io.Writer

	weak string // why no run is started: see Answer.Weak
}

const usage = `usage: boxinit                         as PID 1
       boxinit attend [STRENGTH]       requests as JSON on stdin
       boxinit attend -framed          the same on a connection
       boxinit run [STRENGTH]          start a run, JSON on stdin, unless the container is weaker than that
       boxinit park [STRENGTH]         park a run, JSON on stdin, or discard the parked one
       boxinit tail [-attached] ID OFF its stdout until the end, then the status on stderr
       boxinit status ID
       boxinit stop ID
       boxinit remove ID
       boxinit left                    what ended runs have left running, as JSON
       boxinit endleft                 ends that
       boxinit write [-new] PATH SIZE  a file from stdin
       boxinit read PATH MAX           a file to stdout`

// Main runs one command and returns its exit code. Without arguments it is PID 1 and returns when the container stops.
func (p *Program) Main(args []string) int {
	conceal()
	if len(args) == 0 {
		return p.serve()
	}
	err := p.command(args[0], args[1:])
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintln(p.Stderr, usage)
		return exitUsage
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintln(p.Stderr, "boxinit:", err)
		return exitNotFound
	}
	fmt.Fprintln(p.Stderr, "boxinit:", err)
	return exitError
}

var errUsage = errors.New("usage")

func (p *Program) command(name string, args []string) error {
	s := store{p.Dir}
	flag := false
	if len(args) > 0 && (name == "tail" && args[0] == "-attached" || name == "attend" && args[0] == "-framed" || name == "write" && args[0] == "-new") {
		flag, args = true, args[1:]
	}
	if (name == "attend" || name == "run" || name == "park") && len(args) == 1 && strings.HasPrefix(args[0], "{") { // earlier bots want none
		var err error
		if p.weak, err = weaknesses(args[0]); err != nil {
			return err
		}
		args = nil
	}
	want := map[string]int{"attend": 0, "run": 0, "park": 0, "tail": 2, "status": 1, "stop": 1, "remove": 1, "left": 0, "endleft": 0, "write": 2, "read": 2, "supervise": 1}
	if n, ok := want[name]; !ok || n != len(args) {
		return errUsage
	}
	switch name {
	case "run":
		return p.run(s)
	case "park":
		return p.parkOnce(s)
	case "attend":
		if flag {
			both := &frames{to: p.Stdin}
			p.Stdout, p.Stderr = frameWriter{both, 1}, frameWriter{both, 2}
		}
		return p.attend(s)
	case "left":
		return p.printLeft(s)
	case "endleft":
		return s.endLeft()
	case "write":
		size, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return errUsage
		}
		return receive(p.Stdin, args[0], size, flag)
	case "read":
		max, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return errUsage
		}
		return send(p.Stdout, args[0], max)
	}
	id := args[0]
	if err := CheckID(id); err != nil {
		return err
	}
	switch name {
	case "tail":
		offset, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || offset < 0 {
			return errUsage
		}
		return p.tail(s, id, offset, flag)
	case "status":
		status, err := s.status(id)
		if err != nil {
			return err
		}
		return json.NewEncoder(p.Stdout).Encode(status)
	case "stop":
		return stop(s, id)
	case "remove":
		return s.remove(id)
	}
	return supervise(s, id)
}
