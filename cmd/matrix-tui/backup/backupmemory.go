package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"matrix-tui/state"
	"matrix-tui/state/damage"
	"matrix-tui/state/memory"
)

// packMemory adds the rooms' memory. A damaged index stops no backup: the bot builds it again, without what was forgotten.
func (b *backup) packMemory(ctx context.Context, to *packer, tmp string) error {
	var lists []string
	files, err := memory.Files(b.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		copied := filepath.Join(tmp, filepath.Base(file))
		err := state.Snapshot(ctx, file, copied)
		switch {
		case damage.Is(err):
			fmt.Fprintf(b.say, "%s is damaged and not in the backup: run `matrix-tui memory reindex`.\n", file)
		case err != nil:
			return err
		default:
			err = b.pack(to, copied, filepath.Join(memory.Folder, filepath.Base(file)))
		}
		if gone := os.Remove(copied); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		if err != nil && !damage.Is(err) {
			return err
		}
	}
	for _, ext := range []string{memory.ForgottenExt, memory.PostponedExt, memory.EditsExt} {
		more, err := filepath.Glob(filepath.Join(b.dir, memory.Folder, "*"+ext))
		if err != nil {
			return fmt.Errorf("list memory: %w", err)
		}
		lists = append(lists, more...)
	}
	for _, file := range lists {
		if err := b.pack(to, file, filepath.Join(memory.Folder, filepath.Base(file))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
