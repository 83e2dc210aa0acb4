package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// RecipeLabel is the label on the sandbox image that says what it was made from.
const RecipeLabel = "io.matrix-tui.recipe"

// baseImage is what the sandbox image starts from where nobody says otherwise.
const baseImage = "localhost/matrix-tui-base:latest"

// lifted is the part of the image's recipe that lies outside of deploy.
const lifted = "agent/lift.cjs"

// recipeOf is the hash of what a release's sandbox image is made from, as
// deploy/image/build computes it.
func recipeOf(dir string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"deploy/image/Containerfile", "deploy/image/base", "deploy/image/build", "boxinit", lifted} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("read recipe: %w", err)
		}
		h.Write(data)
	}
	from := os.Getenv("BASE")
	if from == "" {
		from = baseImage
	}
	fmt.Fprintf(h, "%s %s\n", from, os.Getenv("NPM_CONFIG_REGISTRY"))
	return hex.EncodeToString(h.Sum(nil)), nil
}
