package release

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

const imageTime = 20 * time.Minute

var tagOfImage = regexp.MustCompile(`:[^/]*$`)

// Images is what an update needs of podman. It uses podman's command, because package sandbox is about rooms.
type Images struct {
	URL  string // of podman's socket, unix:///…
	Name string // of the sandbox image, with its tag
}

func (i Images) podman(ctx context.Context, args ...string) (string, error) {
	out, err := program{limit: 2 * time.Minute}.run(ctx, append([]string{"podman", "--remote", "--url", i.URL},
		args...)...)
	return strings.TrimSpace(out), err
}

// script runs a release's own script of deploy/image for an image.
func (i Images) script(ctx context.Context, base Base, commit string, log io.Writer, image string,
	argv ...string) (string, error) {
	env := []string{"MATRIX_TUI_CACHE=" + base.path("cache"), "MATRIX_TUI_PODMAN=" + i.URL, "SANDBOX_IMAGE=" + image}
	argv[0] = base.path("releases", commit, "deploy", "image", argv[0])
	out, err := program{dir: base.Dir(commit), limit: imageTime, log: log, env: env}.run(ctx, argv...)
	return strings.TrimSpace(out), err
}

// build builds the release's sandbox image if its recipe differs from the running release's and from that of the image
// in use. It tests the image and returns its name, or "" if there is nothing to do. An image without a recipe is the
// operator's own and is left alone.
func (i Images) build(ctx context.Context, base Base, from, commit string, log io.Writer,
	say func(string)) (string, error) {
	recipe, err := i.script(ctx, base, commit, log, i.Name, "build", "--recipe")
	if err != nil || len(recipe) < 12 {
		return "", failed(fmt.Errorf("ask for the recipe of the image, %q: %w", recipe, err),
			"The recipe of the new sandbox image cannot be read.")
	}
	if old, err := i.script(ctx, base, from, log, i.Name, "build", "--recipe"); err == nil && old == recipe {
		return "", nil
	}
	have, err := i.podman(ctx, "image", "inspect", "--format", `{{index .Labels "io.matrix-tui.recipe"}}`, i.Name)
	if err != nil {
		return "", failed(fmt.Errorf("inspect the sandbox image: %w", err),
			"Podman did not report the label of the sandbox image.")
	}
	if have == "" || have == "<no value>" || have == recipe {
		return "", nil
	}
	say("The sandbox image has a new recipe: building it next to the old one.")
	name := tagOfImage.ReplaceAllString(i.Name, "") + ":" + recipe[:12]
	if _, err := i.script(ctx, base, commit, log, name, "build"); err != nil {
		return "", failed(fmt.Errorf("build image %s: %w", name, err), "The new sandbox image could not be built.")
	}
	if _, err := i.script(ctx, base, commit, log, name, "try"); err != nil {
		_, _ = i.podman(ctx, "rmi", name)
		return "", failed(fmt.Errorf("test the new image: %w", err), "The new sandbox image failed its test.")
	}
	return name, nil
}

// Take makes an image that was built for an update the one for new containers.
func (i Images) Take(ctx context.Context, built string) error {
	if _, err := i.podman(ctx, "tag", built, i.Name); err != nil {
		return fmt.Errorf("tag image %s: %w", built, err)
	}
	return nil
}
