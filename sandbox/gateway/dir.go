package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// roomFile returns the file that names the room of a directory. It is not in there, where the container would see it.
func roomFile(dir string) string { return dir + ".room" }

// Folder returns the path of a room's directory: the one with the beginning of its hash, or with all of it, shortly
// written, if another room has that.
func (g *Gateway) Folder(room string) string {
	sum := sha256.Sum256([]byte(room))
	short, whole := filepath.Join(g.cfg.Dir, hex.EncodeToString(sum[:8])),
		filepath.Join(g.cfg.Dir, base64.RawURLEncoding.EncodeToString(sum[:]))
	_, err := os.Lstat(whole)
	owner, _ := os.ReadFile(roomFile(short)) // missing where an earlier release has made it
	if err == nil || len(owner) > 0 && string(owner) != room {
		return whole
	}
	return short
}

// makeDir creates a directory, and sets the permissions of one that exists.
func makeDir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, mode); err != nil {
		return fmt.Errorf("create gateway directory: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("set permissions of gateway directory: %w", err)
	}
	return nil
}

// mark writes whose directory it is.
func mark(dir, room string) error {
	path := roomFile(dir)
	if owner, err := os.ReadFile(path); err == nil && string(owner) == room {
		return nil
	}
	if err := renameio.WriteFile(path, []byte(room), 0o600, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("mark gateway directory: %w", err)
	}
	return nil
}
