// Vulns looks for known vulnerabilities in the functions that the given packages call, as govulncheck does, and
// compares them with a list of accepted ones, each with its reason. It fails for a vulnerability that is not on the
// list and for an entry of the list that is no longer found.
//
// The database is GOVULNDB or vuln.go.dev. If the latter cannot be reached, it says so and exits with code 3: nothing
// was checked.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/vuln/scan"
)

const public = "https://vuln.go.dev"

var errUnreachable = errors.New("the database of known vulnerabilities cannot be reached")

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: vulns ACCEPTED PACKAGE…")
		os.Exit(2)
	}
	err := check(context.Background(), os.Args[1], os.Args[2:])
	switch {
	case errors.Is(err, errUnreachable):
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, list string, packages []string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("read accepted vulnerabilities: %w", err)
	}
	accepted, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("read accepted vulnerabilities in %s: %w", list, err)
	}
	db := os.Getenv("GOVULNDB")
	if db == "" {
		db = public
		if err := reach(ctx, db); err != nil {
			return fmt.Errorf("%w: %w; GOVULNDB names a mirror or a folder, file:///…", errUnreachable, err)
		}
	}
	found, err := search(ctx, db, packages)
	if err != nil {
		return err
	}
	return judge(found, accepted)
}

// reach requests the database's smallest file.
func reach(ctx context.Context, db string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, db+"/index/db.json", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: %s", db, resp.Status)
	}
	return nil
}

// search runs govulncheck and returns its findings by vulnerability ID.
func search(ctx context.Context, db string, packages []string) (map[string]finding, error) {
	var out, errs bytes.Buffer
	cmd := scan.Command(ctx, append([]string{"-format", "json", "-db", db}, packages...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start govulncheck: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("govulncheck: %w\n%s", err, errs.String())
	}
	return read(&out)
}

// finding is a finding of govulncheck.
type finding struct {
	OSV   string  `json:"osv"`
	Fixed string  `json:"fixed_version"`
	Trace []frame `json:"trace"` // the vulnerable function comes first
}

type frame struct{ Module, Version, Package, Function, Receiver string }

// read keeps vulnerabilities that are called, not those that are only imported or required.
func read(out io.Reader) (map[string]finding, error) {
	found := map[string]finding{}
	for messages := json.NewDecoder(out); ; {
		var m struct{ Finding *finding }
		if err := messages.Decode(&m); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read govulncheck's output: %w", err)
		}
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			if _, known := found[f.OSV]; !known {
				found[f.OSV] = *f
			}
		}
	}
}

// parse reads lines of the form "GO-2026-1 the reason"; # starts a comment.
func parse(text string) (map[string]string, error) {
	accepted := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%q has no reason", line)
		}
		accepted[number] = strings.TrimSpace(reason)
	}
	return accepted, nil
}

func judge(found map[string]finding, accepted map[string]string) error {
	var wrong []string
	for _, number := range slices.Sorted(maps.Keys(found)) {
		f := found[number]
		if _, ok := accepted[number]; !ok {
			at := f.Trace[0]
			wrong = append(wrong, fmt.Sprintf("%s: %s@%s, %s.%s is called; fixed in: %s (https://pkg.go.dev/vuln/%s)",
				number, at.Module, at.Version, at.Package, at.Function, f.Fixed, number))
		}
	}
	for _, number := range slices.Sorted(maps.Keys(accepted)) {
		if _, ok := found[number]; !ok {
			wrong = append(wrong, number+": accepted, but no longer found: remove it from the list")
		}
	}
	if len(wrong) > 0 {
		return errors.New("known vulnerabilities:\n  " + strings.Join(wrong, "\n  "))
	}
	return nil
}
