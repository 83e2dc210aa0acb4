package media

import (
	"fmt"
	"os"
)

// EmptyDir makes the folder of temporary files anew: what a former life left there
// is in the clear.
func EmptyDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty folder of temporary files: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder of temporary files: %w", err)
	}
	return nil
}
