package sandbox

import "matrix-tui/state/roomname"

// NameFor returns the name of a room's container. Another room may have the same one: the label says whose it is.
func NameFor(room string) string { return "sandbox-" + roomname.Short(room) }

// WholeName is NameFor for a room whose name another one uses.
func WholeName(room string) string { return "sandbox-" + roomname.Whole(room) }
