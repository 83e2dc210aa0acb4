package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// row is one number with all its samples.
type row struct {
	what   string
	unit   string  // ms, s, MB, "" for a count
	goal   float64 // upper limit; 0 = none
	values []float64
}

// table is all results, in the order of measurement.
type table struct {
	host []string
	rows []row
}

// add appends a row.
func (t *table) add(what, unit string, goal float64, values ...float64) {
	t.rows = append(t.rows, row{what, unit, goal, values})
}

func (t *table) print(w io.Writer) {
	for _, line := range t.host {
		fmt.Fprintln(w, line)
	}
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "what\tmedian\tmin–max\tn\tgoal\tof goal\t")
	for _, r := range t.rows {
		fmt.Fprintln(tab, r.line())
	}
	_ = tab.Flush()
}

// missed returns an error about the rows from there on that have missed their goal, nil if there are none.
func (t *table) missed(from int) (err error) {
	for _, r := range t.rows[from:] {
		if r.over() {
			err = errors.Join(err, fmt.Errorf("goal missed: %s: %s, not ≤ %s", strings.TrimSpace(r.what),
				amount(median(r.values), r.unit), amount(r.goal, r.unit)))
		}
	}
	return err
}

// over reports whether the row has missed its goal.
func (r row) over() bool { return r.goal > 0 && len(r.values) > 0 && median(r.values) > r.goal }

// line is the row with a tab after each cell.
func (r row) line() string {
	if len(r.values) == 0 {
		return r.what + "\tnot measured\t\t0\t\t\t"
	}
	m := median(r.values)
	goal, share := "", ""
	if r.goal > 0 {
		verdict := "ok"
		if r.over() {
			verdict = "over"
		}
		goal, share = "≤ "+amount(r.goal, r.unit), fmt.Sprintf("%.2f %s", m/r.goal, verdict)
	}
	span := number(slices.Min(r.values)) + "–" + number(slices.Max(r.values))
	return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s\t", r.what, amount(m, r.unit), span, len(r.values), goal, share)
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func amount(v float64, unit string) string { return strings.TrimSpace(number(v) + " " + unit) }

// number writes a value with three significant digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1000, a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// describeHost describes the host and the time of measurement.
func describeHost(ctx context.Context) []string {
	var name syscall.Utsname
	kernel := "?"
	if syscall.Uname(&name) == nil {
		var b []byte
		for _, c := range name.Release {
			if c == 0 {
				break
			}
			b = append(b, byte(c))
		}
		kernel = string(b)
	}
	out, _ := exec.CommandContext(ctx, "podman", "--version").Output()
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return []string{fmt.Sprintf("%s · %d CPUs (%s) · Linux %s · %s · load average at the start %s",
		time.Now().Format("2006-01-02 15:04"), runtime.NumCPU(), cpuModel(), kernel,
		cmp.Or(strings.TrimSpace(string(out)), "podman ?"), cmp.Or(first, "?"))}
}

func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
