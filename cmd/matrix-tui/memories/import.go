package memories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"matrix-tui/bot/recall"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/memory"
)

func memoryImport(ctx context.Context, m *memoryCall) error {
	if len(m.given) == 0 {
		return &cli.UsageError{Text: "memory import takes at least one FILE"}
	}
	room, err := m.chosen()
	if err != nil {
		return err
	}
	type imported struct {
		File     string `json:"file"`
		Messages int    `json:"messages"`
	}
	all := []imported{}
	err = m.record(ctx, func(memories *recall.Memory, _ *state.Journal) error {
		for _, name := range m.given {
			n, err := importFile(ctx, memories, room, name)
			if err != nil {
				return err
			}
			all = append(all, imported{name, n})
			if !m.json {
				fmt.Fprintf(m.app.Stdout, "%s: %s\n", name, cli.CountOf(n, "message", "messages"))
			}
		}
		return nil
	})
	if err == nil && m.json {
		return m.print(all)
	}
	return err
}

// importFile imports a file completely, or not at all, without secrets.
func importFile(ctx context.Context, memories *recall.Memory, room, name string) (int, error) {
	origin, err := filepath.Abs(name)
	if err != nil {
		return 0, err
	}
	file, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", name, settings.Reason(err))
	}
	defer file.Close()
	n, err := memories.Import(ctx, room, origin, file)
	if errors.Is(err, memory.ErrImport) {
		return 0, fmt.Errorf("nothing was imported from this file: %w", err)
	}
	return n, err
}
