package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"matrix-tui/deploy/release"
)

func versionCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("version")
	parts := flags.Bool("sbom", false, "print what this release and the sandbox image are made of (CycloneDX)")
	if err := a.parse(flags, args); err != nil {
		return err
	}
	if *parts {
		return sbom(ctx, a, findInstalled())
	}
	_, err := fmt.Fprintf(a.stdout, "matrix-tui %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// sbom prints a release's bill of materials.
func sbom(ctx context.Context, a *app, i *installed) error {
	if i == nil {
		return errors.New("this program is not in a release, and only releases have a bill of materials: see `matrix-tui release`")
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	podman := podmanURI(cfg)
	data, err := i.base.SBOM(ctx, i.running, release.Images{URL: podman, Name: string(cfg.Image)})
	_, writeErr := a.stdout.Write(data)
	return errors.Join(err, writeErr)
}
