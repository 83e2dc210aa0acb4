package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// commit is set by builds that know it: -ldflags "-X main.commit=abc123".
var commit string

func versionCommand(_ context.Context, a *app, args []string) error {
	if err := a.parse(a.flags("version"), args); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "matrix-tui %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version returns the module's version, with the commit if it is known, such as "v1.2.0", "devel" or
// "devel+1a2b3c4d5e6f".
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info, commit)
}

func versionOf(info *debug.BuildInfo, commit string) string {
	name, modified := "devel", ""
	if info != nil {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v // the go command adds the commit
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "-modified"
			}
		}
	}
	if commit == "" {
		return name
	}
	return name + "+" + commit[:min(len(commit), 12)] + modified
}
