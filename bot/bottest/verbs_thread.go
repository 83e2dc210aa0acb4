package bottest

import (
	"context"
	"fmt"
)

// doThreaded checks that the newest matching message is in the thread of another one.
func doThreaded(_ context.Context, sc *script, neg bool, args []string) error {
	p, room, m, err := sc.newest(args)
	if err != nil {
		return err
	}
	root, err := newest(p, room, args[3], false)
	if err != nil {
		return err
	}
	if in := m.Thread == root.Event; in == neg {
		return fmt.Errorf("%q is in the thread of %q, not of %s", m.Body, m.Thread, root.Event)
	}
	return nil
}
