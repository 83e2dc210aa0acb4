package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tests are the tests that one package declares.
type tests struct {
	dir     string
	names   []string
	scripts map[string]string // conversation → the test that plays it
}

// players are the tests that play scripts, each with its folder of them.
var players = map[string]string{"TestConversations": "testdata", "TestMachines": "testdata/vps",
	"TestDrills": "testdata/long", "TestClusterFaults": "testdata/kube"}

// twice is what the name of a script ends with that is played again in encrypted rooms, or on Synapse, and each what it
// may end with if it is played with several values.
const (
	twice = "(-in-encrypted-rooms|-on-synapse)?"
	each  = "(-.*)?"
)

// pattern is the value of -run.
func pattern(args []string) (value string, given bool) {
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || name != "run" && name != "test.run":
		case joined:
			return value, true
		case i+1 < len(args):
			return args[i+1], true
		}
	}
	return "", false
}

// packages tells whether the arguments name packages.
func packages(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == "." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "matrix-tui/")
	})
}

// choose adds the packages to a -run that has none, and turns the name of a
// conversation into the test that plays it.
func choose(root string, args []string) ([]string, error) {
	name, given := pattern(args)
	if !given || packages(args) {
		return args, nil
	}
	all, err := declared(root)
	if err != nil {
		return nil, err
	}
	run, dirs, err := find(all, name)
	if err != nil {
		return nil, err
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if flag := strings.TrimLeft(arg, "-"); strings.HasPrefix(arg, "-") && (flag == "run" || flag == "test.run") {
			args[i+1] = run
		} else if strings.HasPrefix(arg, "-") && (strings.HasPrefix(flag, "run=") || strings.HasPrefix(flag, "test.run=")) {
			args[i] = "-run=" + run
		}
	}
	return append(args, dirs...), nil
}

// find gives the -run pattern and the packages for a name: of a conversation,
// else of tests, else a pattern that conversations fit.
func find(all []tests, name string) (run string, dirs []string, err error) {
	for _, p := range all {
		if player, ok := p.scripts[name]; ok {
			ending := twice
			if player == "TestDrills" {
				ending = each
			}
			return fmt.Sprintf("^%s$/^%s%s$", player, regexp.QuoteMeta(name), ending), []string{p.dir}, nil
		}
	}
	first, _, _ := strings.Cut(name, "/")
	test, err := regexp.Compile(first)
	if err != nil {
		return "", nil, fmt.Errorf("-run %s: %w", name, err)
	}
	for _, p := range all {
		if slices.ContainsFunc(p.names, test.MatchString) {
			dirs = append(dirs, p.dir)
		}
	}
	if len(dirs) > 0 {
		return name, dirs, nil
	}
	var plays []string
	for _, p := range all {
		for script, player := range p.scripts {
			if test.MatchString(script) {
				plays, dirs = append(plays, player), append(dirs, p.dir)
			}
		}
	}
	if len(plays) == 0 {
		return "", nil, fmt.Errorf("-run %s: no conversation and no test has this name", name)
	}
	slices.Sort(plays)
	slices.Sort(dirs)
	return fmt.Sprintf("^(%s)$/%s", strings.Join(slices.Compact(plays), "|"), name), slices.Compact(dirs), nil
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// declared reads the names of all tests below root.
func declared(root string) ([]tests, error) {
	byDir := map[string]*tests{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		p := cmp.Or(byDir[dir], &tests{dir: "./" + filepath.ToSlash(dir), scripts: map[string]string{}})
		byDir[dir] = p
		for _, match := range function.FindAllSubmatch(source, -1) {
			name := string(match[1])
			if folder, ok := players[name]; ok {
				files, _ := filepath.Glob(filepath.Join(dir, folder, "*.txtar"))
				for _, file := range files {
					p.scripts[strings.TrimSuffix(filepath.Base(file), ".txtar")] = name
				}
			}
			p.names = append(p.names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for tests: %w", err)
	}
	var all []tests
	for _, p := range byDir {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b tests) int { return cmp.Compare(a.dir, b.dir) })
	return all, nil
}
