package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json; "go doc test2json" explains it.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// part is a test, a conversation or, with an empty test, a package.
type part struct{ pkg, test string }

// report turns events into go test's own output and remembers what to tell at the end.
type report struct {
	out     io.Writer
	verbose bool
	held    map[part]*strings.Builder // output of what has not ended
	took    map[part]float64
	skipped []skip
	ran     int      // tests that were started and not skipped
	failed  []string // the closing lines of packages
}

type skip struct {
	part
	why string
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, held: map[part]*strings.Builder{}, took: map[part]float64{}}
}

// read follows the events until go test ends.
func (r *report) read(events io.Reader) error {
	for lines := json.NewDecoder(events); ; {
		var e event
		if err := lines.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what go test says: %w", err)
		}
		r.add(e)
	}
}

func (r *report) add(e event) {
	p := part{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output(p, e.Output)
	case "run":
		r.ran++
	case "skip":
		if e.Test != "" {
			r.ran--
			r.skipped = append(r.skipped, skip{p, r.reason(p)})
		}
		delete(r.held, p)
	case "pass":
		r.took[p] = e.Elapsed
		delete(r.held, p)
	case "fail":
		r.took[p] = e.Elapsed
		if e.Test == "" {
			r.flushAll(e.Package) // those that a panic or the time limit cut off
		}
		r.flush(p)
	}
}

// closing are the lines that say how a package ended.
var closing = regexp.MustCompile(`^(ok  |FAIL|\?   |---)\t`)

// output prints at once what go test would; the rest waits for a failure.
func (r *report) output(p part, text string) {
	if p.test == "" && closing.MatchString(text) {
		if strings.HasPrefix(text, "FAIL") {
			r.flushAll(p.pkg)
			r.failed = append(r.failed, text)
		}
		fmt.Fprint(r.out, text)
		return
	}
	if r.verbose {
		fmt.Fprint(r.out, text)
	}
	if p.test == "" && text == "PASS\n" || strings.HasPrefix(text, "=== ") {
		return
	}
	if r.held[p] == nil {
		r.held[p] = &strings.Builder{}
	}
	r.held[p].WriteString(text)
}

func (r *report) flush(p part) {
	if b := r.held[p]; b != nil && !r.verbose {
		fmt.Fprint(r.out, b.String())
	}
	delete(r.held, p)
}

func (r *report) flushAll(pkg string) {
	var left []part
	for p := range r.held {
		if p.pkg == pkg {
			left = append(left, p)
		}
	}
	slices.SortFunc(left, func(a, b part) int { return cmp.Compare(b.test, a.test) }) // the package's own output last
	for _, p := range left {
		r.flush(p)
	}
}

// finish prints what a go test that was killed left unsaid.
func (r *report) finish() {
	for p := range r.held {
		r.flushAll(p.pkg)
	}
}

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// reason is the last thing that a skipped test said.
func (r *report) reason(p part) string {
	if b := r.held[p]; b != nil {
		for _, line := range slices.Backward(strings.Split(b.String(), "\n")) {
			if place.MatchString(line) {
				return place.ReplaceAllString(line, "")
			}
		}
	}
	return "no reason given"
}

const slowest = 10

// summary prints what is to be known at the end of a run.
func (r *report) summary(took time.Duration, process *os.ProcessState) {
	r.tell()
	fmt.Fprintf(r.out, "\n%d tests ran in %.0f s; go test and its children used %.0f s of user and %.0f s of system CPU "+
		"time (containers not counted)\n",
		r.ran, took.Seconds(), process.UserTime().Seconds(), process.SystemTime().Seconds())
	for _, line := range r.failed {
		fmt.Fprint(r.out, line)
	}
}

// tell prints the slowest parts and all that was not run.
func (r *report) tell() {
	r.slow("packages", func(p part) bool { return p.test == "" })
	r.slow("tests and conversations", r.isTest)
	slices.SortStableFunc(r.skipped, func(a, b skip) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.why, b.why))
	})
	if len(r.skipped) > 0 {
		fmt.Fprintf(r.out, "\nNOT RUN: %d tests", len(r.skipped))
	}
	for i, s := range r.skipped {
		if i == 0 || s.pkg != r.skipped[i-1].pkg || s.why != r.skipped[i-1].why {
			fmt.Fprintf(r.out, "\n  %s: %s\n     ", s.pkg, s.why)
		}
		fmt.Fprint(r.out, " ", s.test)
	}
	if len(r.skipped) > 0 {
		fmt.Fprintln(r.out)
	}
}

// isTest tells whether p counts by itself: a test, but a conversation instead
// of the test that plays them all.
func (r *report) isTest(p part) bool {
	test, script, sub := strings.Cut(p.test, "/")
	_, plays := players[test]
	return p.test != "" && plays == sub && !strings.Contains(script, "/")
}

func (r *report) slow(what string, counts func(part) bool) {
	var parts []part
	for p := range r.took {
		if counts(p) && r.took[p] > 0 {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(r.took[b], r.took[a]) })
	if len(parts) > 0 {
		fmt.Fprintf(r.out, "\nSlowest %s:\n", what)
	}
	for _, p := range parts[:min(slowest, len(parts))] {
		_, name, plays := strings.Cut(p.test, "/")
		if !plays {
			name = strings.TrimSpace(p.pkg + " " + p.test)
		}
		fmt.Fprintf(r.out, "%8.1f s  %s\n", r.took[p], name)
	}
}
