// Gotest runs go test for deploy/test and prints what go test prints. At the end
// it adds the slowest parts and every test that was skipped, so that nothing
// looks like a pass that was not run. It never changes what go test decides: the
// exit code is go test's, except that a -run which selects nothing fails.
//
// With -run and no package it finds the package itself. NAME may be the name of
// a conversation script or whatever go test's -run takes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

// run returns the exit code; 2 is for a test that cannot be found or started.
func run(args []string, stdout, stderr io.Writer) (int, error) {
	args, err := choose(".", args)
	if err != nil {
		return 2, err
	}
	_, limited := pattern(args)
	fmt.Fprintln(stdout, "gotest: go test", strings.Join(args, " "))
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 2, fmt.Errorf("start go test: %w", err)
	}
	// The terminal sends an interrupt to go test as well; it ends by itself.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 2, fmt.Errorf("start go test: %w", err)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	r := newReport(stdout, verbose(args))
	if err := r.read(events); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 2, err
	}
	err = cmd.Wait()
	r.finish()
	r.summary(time.Since(began), cmd.ProcessState)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		fmt.Fprintln(stdout, "FAIL")
		return max(exit.ExitCode(), 1), nil // -1 means that a signal ended it
	case err != nil:
		return 2, fmt.Errorf("run go test: %w", err)
	case limited && r.ran == 0:
		fmt.Fprintln(stdout, "FAIL")
		return 2, errors.New("no test ran: -run selects nothing in these packages")
	}
	return 0, nil
}

// verbose tells whether the arguments ask go test for -v.
func verbose(args []string) bool {
	for _, arg := range args {
		switch strings.TrimLeft(arg, "-") {
		case "v", "v=true", "test.v", "args":
			return strings.TrimLeft(arg, "-") != "args" && strings.HasPrefix(arg, "-")
		}
	}
	return false
}
