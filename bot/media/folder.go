package media

import (
	"fmt"
	"os"
)

// EmptyDir empties the folder of temporary files: an earlier process may have left decrypted files there.
func EmptyDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty folder of temporary files: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create folder of temporary files: %w", err)
	}
	return nil
}
