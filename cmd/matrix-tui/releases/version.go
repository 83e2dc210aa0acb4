package releases

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/deploy/release"
)

func Version(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("version")
	parts := flags.Bool("sbom", false, "print what this release and the sandbox image are made of (CycloneDX)")
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	if *parts {
		return sbom(ctx, a, FindInstalled())
	}
	_, err := fmt.Fprintf(a.Stdout, "matrix-tui %s (%s %s/%s)\n", cli.Version(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}

// sbom prints a release's bill of materials.
func sbom(ctx context.Context, a *cli.App, i *Installed) error {
	if i == nil {
		return errors.New("this program is not in a release, and only releases have a bill of materials: see `matrix-tui " +
			"release`")
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	podman := cli.PodmanURI(cfg)
	data, err := i.base.SBOM(ctx, i.running, release.Images{URL: podman, Name: string(cfg.Image)})
	_, writeErr := a.Stdout.Write(data)
	return errors.Join(err, writeErr)
}
