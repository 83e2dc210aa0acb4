package release

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	imageTime = 20 * time.Minute
	smokeTime = 2 * time.Minute
)

// recipeLabel is the image's label with the hash of what it was built from.
const recipeLabel = "io.matrix-tui.recipe"

// Images is what an update needs of podman. It uses podman's command, because package sandbox is about rooms.
type Images struct {
	URL  string // of podman's socket, unix:///…
	Name string // of the sandbox image, with its tag
}

func (i Images) podman(ctx context.Context, limit time.Duration, log io.Writer, args ...string) (string, error) {
	p := program{limit: limit, log: log, env: environ()}
	return p.run(ctx, append([]string{"podman", "--remote", "--url", i.URL}, args...)...)
}

// build builds the release's sandbox image if its recipe differs from the running release's and from that of the image
// in use. It tests the image and returns its name, or "" if there is nothing to do. An image without a recipe is the
// operator's own and is left alone.
func (i Images) build(ctx context.Context, base Base, from, commit string, log io.Writer, say func(string)) (string, error) {
	recipe, err := recipeOf(ctx, base, base.Dir(commit))
	if err != nil {
		return "", err
	}
	if old, err := recipeOf(ctx, base, base.Dir(from)); err == nil && old == recipe {
		return "", nil
	}
	have, err := i.podman(ctx, smokeTime, nil, "image", "inspect", "--format", `{{index .Labels "`+recipeLabel+`"}}`, i.Name)
	have = strings.TrimSpace(have)
	if err != nil {
		return "", sentence.New(fmt.Errorf("inspect the sandbox image: %w", err), "Podman did not report the label of the sandbox image.").With(linesOf(err))
	}
	if have == "" || have == "<no value>" || have == recipe {
		return "", nil
	}
	say("The sandbox image has a new recipe: building it next to the old one.")
	name := i.tagged(recipe)
	p := imageProgram(base, base.Dir(commit), imageTime, log, "MATRIX_TUI_PODMAN="+i.URL, "SANDBOX_IMAGE="+name)
	if _, err := p.run(ctx, filepath.Join(base.Dir(commit), imageScript)); err != nil {
		return "", sentence.New(fmt.Errorf("build image %s: %w", name, err), "The new sandbox image could not be built.").With(linesOf(err))
	}
	if err := i.smoke(ctx, name, commit, log); err != nil {
		_, _ = i.podman(ctx, smokeTime, nil, "rmi", name)
		return "", sentence.New(fmt.Errorf("test the new image: %w", err), "The new sandbox image failed its test.").With(linesOf(err))
	}
	return name, nil
}

// tagged returns the image's name with the tag of a recipe.
func (i Images) tagged(recipe string) string {
	name := i.Name
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	return name + ":" + recipe[:12]
}

// smoke starts a container of the image, asks its PID 1 for a file and the agent for its version.
func (i Images) smoke(ctx context.Context, image, commit string, log io.Writer) error {
	container := "matrix-tui-trial-" + commit
	_, _ = i.podman(ctx, smokeTime, nil, "rm", "--force", "--ignore", container)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), smokeTime)
		defer cancel()
		_, _ = i.podman(ctx, smokeTime, nil, "rm", "--force", "--ignore", "--time", "1", container)
	}()
	// The limits are those of the rooms' containers: podman's defaults may exceed what the host allows.
	_, err := i.podman(ctx, smokeTime, log, "run", "--detach", "--name", container, "--network", "none", "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096", image)
	if err != nil {
		return err
	}
	_, err = i.podman(ctx, smokeTime, log, "exec", container, "gemini", "--version") // boxinit is PID 1
	return err
}

// Take makes an image that was built for an update the one for new containers.
func (i Images) Take(ctx context.Context, built string) error {
	if built == "" {
		return nil
	}
	if _, err := i.podman(ctx, smokeTime, nil, "tag", built, i.Name); err != nil {
		return fmt.Errorf("tag image %s: %w", built, err)
	}
	return nil
}
