// Package releases builds and installs releases, and knows the one that this program runs from.
package releases

import (
	"context"
	"os"

	"github.com/rs/zerolog"

	"matrix-tui/bot/update"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/deploy/release"
)

// Installed is the release that this process runs from; nil if the program is not in a release folder.
type Installed struct {
	base    release.Base
	running string // commit, 12 digits
}

// FindInstalled returns the release of this program.
func FindInstalled() *Installed {
	path, _ := os.Executable()
	if base, commit, ok := release.Of(path); ok {
		return &Installed{base, commit}
	}
	return nil
}

// Elsewhere says how this program is updated if it is in a pod, "" = it is not.
func Elsewhere() string {
	if pod, _ := cli.Pod(); pod == "" {
		return ""
	}
	return update.InPod
}

// AtStart is the first step of a run: it notes what became of an update that was under way.
func (i *Installed) AtStart() error {
	if i == nil {
		return nil
	}
	return i.base.AtStart(i.running)
}

// Ready marks an update as successful, before the bot does anything visible.
func (i *Installed) Ready(ctx context.Context, images release.Images, log zerolog.Logger) error {
	if i == nil {
		return nil
	}
	image, err := i.base.Ready(i.running)
	if err == nil && image != "" {
		if err := images.Take(ctx, image); err != nil {
			log.Error().Err(err).Msg("could not switch to the new sandbox image: containers keep using the old one")
		}
	}
	return err
}

// Updater returns the bot's updater; nil if there are no releases.
func (i *Installed) Updater(cfg *settings.Config) *release.Updater {
	if i == nil {
		return nil
	}
	podman := cli.PodmanURI(cfg)
	return &release.Updater{
		Base: i.base, Running: i.running, State: string(cfg.StateDir), Source: string(cfg.UpdateSource),
		Key:    string(cfg.UpdateKey),
		Images: release.Images{URL: podman, Name: string(cfg.Image)},
		Secrets: []string{cfg.Password.Reveal(), cfg.AccessToken.Reveal(), cfg.GeminiKey.Reveal(), cfg.APIToken.Reveal(),
			cli.LoadLogin(cfg).Token.Reveal()},
	}
}
