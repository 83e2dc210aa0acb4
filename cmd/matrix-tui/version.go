package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"matrix-tui/deploy/release"
)

// commit is set by builds that know it: -ldflags "-X main.commit=abc123".
var commit string

func versionCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("version")
	parts := flags.Bool("sbom", false, "print what this release and the sandbox image are made of (CycloneDX)")
	if err := a.parse(flags, args); err != nil {
		return err
	}
	if *parts {
		return a.sbom(ctx, findInstalled())
	}
	_, err := fmt.Fprintf(a.stdout, "matrix-tui %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// sbom prints a release's bill of materials.
func (a *app) sbom(ctx context.Context, i *installed) error {
	if i == nil {
		return errors.New("this program is not in a release, and only releases have a bill of materials: see `matrix-tui release`")
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	podman, _ := socketURI(cfg)
	data, err := i.base.SBOM(ctx, i.running, release.Images{URL: podman, Name: string(cfg.Image)})
	_, writeErr := a.stdout.Write(data)
	return errors.Join(err, writeErr)
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
