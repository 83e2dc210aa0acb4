package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	imageTime = 20 * time.Minute
	smokeTime = 2 * time.Minute
)

// Images is podman's service as far as an update needs it: by its client,
// because the package that speaks to it is about rooms.
type Images struct {
	URL  string // of podman's socket, unix:///…
	Name string // of the sandbox image, with its tag
}

func (i Images) podman(ctx context.Context, limit time.Duration, log io.Writer, args ...string) (string, error) {
	p := program{limit: limit, log: log, env: environ()}
	return p.run(ctx, append([]string{"podman", "--remote", "--url", i.URL}, args...)...)
}

// build makes the sandbox image of a release where its recipe is another one
// than that of the release that runs, and of the image in use; it tries the
// image and returns its name, "" where there is nothing to do. An image that has
// no recipe is somebody's own: it stays.
func (i Images) build(ctx context.Context, base Base, from, commit string, log io.Writer, say func(string)) (string, error) {
	recipe, err := recipeOf(base.Dir(commit))
	if err != nil {
		return "", err
	}
	if old, err := recipeOf(base.Dir(from)); err == nil && old == recipe {
		return "", nil
	}
	have, err := i.podman(ctx, smokeTime, nil, "image", "inspect", "--format", `{{index .Labels "`+RecipeLabel+`"}}`, i.Name)
	have = strings.TrimSpace(have)
	if err != nil {
		return "", &told{fmt.Errorf("look at the sandbox image: %w", err), "Podman does not tell what the sandbox image was made from.", linesOf(err)}
	}
	if have == "" || have == recipe {
		return "", nil
	}
	say("The sandbox image has a new recipe: building it beside the old one.")
	name := i.tagged(recipe)
	if _, err := i.podman(ctx, smokeTime, nil, "image", "exists", name); err != nil {
		if err := i.make(ctx, base, commit, recipe, name, log); err != nil {
			return "", err
		}
	}
	if err := i.smoke(ctx, name, commit, log); err != nil {
		_, _ = i.podman(ctx, smokeTime, nil, "rmi", name)
		return "", &told{fmt.Errorf("try the new image: %w", err), "The new sandbox image does not do what it should.", linesOf(err)}
	}
	return name, nil
}

// tagged is the image's name with the tag of a recipe.
func (i Images) tagged(recipe string) string {
	name := i.Name
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	return name + ":" + recipe[:12]
}

var versionLine = regexp.MustCompile(`(?m)^(NODE_VERSION|NPM_VERSION|GEMINI_VERSION)=([0-9A-Za-z.+-]+)$`)

// make builds an image from the release's recipe, as deploy/image/build does.
func (i Images) make(ctx context.Context, base Base, commit, recipe, name string, log io.Writer) error {
	dir := base.Dir(commit)
	script, err := os.ReadFile(filepath.Join(dir, "deploy", "image", "build"))
	if err != nil {
		return fmt.Errorf("read the image's recipe: %w", err)
	}
	context, err := i.context(base, dir)
	if err != nil {
		return full(fmt.Errorf("prepare the image: %w", err), base)
	}
	defer os.RemoveAll(context)
	from := os.Getenv("BASE")
	if from == "" {
		from = baseImage
	}
	args := []string{"build", "--file", filepath.Join(dir, "deploy", "image", "Containerfile"), "--tag", name,
		"--label", RecipeLabel + "=" + recipe, "--build-arg", "BASE=" + from, "--network", "host", "--pull=never",
		"--volume", filepath.Join(context, "ca") + ":/mnt:ro"}
	for _, v := range versionLine.FindAllStringSubmatch(string(script), -1) {
		args = append(args, "--build-arg", v[1]+"="+v[2])
	}
	if registry := os.Getenv("NPM_CONFIG_REGISTRY"); registry != "" {
		args = append(args, "--build-arg", "NPM_CONFIG_REGISTRY="+registry)
	}
	out, err := i.podman(ctx, imageTime, log, append(args, context)...)
	if err != nil {
		return &told{fmt.Errorf("build image %s: %w", name, err), "The new sandbox image cannot be built.", lastLines(out+"\n"+strings.Join(linesOf(err), "\n"), 10)}
	}
	return nil
}

// context is the folder that the build sees: boxinit and what is lifted, dated so that the same
// content makes the same layer, and the authorities that this host trusts.
func (i Images) context(base Base, release string) (string, error) {
	dir := base.path("cache", "image")
	ca := filepath.Join(dir, "ca")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(ca, 0o755)); err != nil {
		return "", err
	}
	var err error
	for _, name := range []string{"boxinit", lifted} {
		to := filepath.Join(dir, filepath.Base(name))
		if err == nil {
			err = copyFile(filepath.Join(release, name), to, false)
		}
		if err == nil {
			err = os.Chtimes(to, time.Unix(0, 0), time.Unix(0, 0))
		}
	}
	if err == nil {
		err = copyFile("/etc/ssl/certs/ca-certificates.crt", filepath.Join(ca, "host-ca.crt"), false)
	}
	return dir, err
}

// smoke starts a box of the image, asks its PID 1 for a file and the agent for
// its version.
func (i Images) smoke(ctx context.Context, image, commit string, log io.Writer) error {
	box := "matrix-tui-trial-" + commit
	_, _ = i.podman(ctx, smokeTime, nil, "rm", "--force", "--ignore", box)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), smokeTime)
		defer cancel()
		_, _ = i.podman(ctx, smokeTime, nil, "rm", "--force", "--ignore", "--time", "1", box)
	}()
	if _, err := i.podman(ctx, smokeTime, log, "run", "--detach", "--name", box, "--network", "none", image); err != nil {
		return err
	}
	for _, argv := range [][]string{{"boxinit", "read", "/etc/os-release", "100"}, {"gemini", "--version"}} {
		if _, err := i.podman(ctx, smokeTime, log, append([]string{"exec", box}, argv...)...); err != nil {
			return err
		}
	}
	return nil
}

// Take makes an image that was built for an update the one that new boxes are
// made of.
func (i Images) Take(ctx context.Context, built string) error {
	if built == "" {
		return nil
	}
	if _, err := i.podman(ctx, smokeTime, nil, "tag", built, i.Name); err != nil {
		return fmt.Errorf("take image %s: %w", built, err)
	}
	return nil
}
