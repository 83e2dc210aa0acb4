package settings

import (
	"fmt"
	"strings"

	"matrix-tui/bot/policy"
)

func (n *UserName) UnmarshalText(text []byte) error {
	id := string(text)
	if !strings.ContainsAny(id, "@:") {
		id = "@" + id + ":server"
	}
	if !policy.IsEntry(id) || strings.Contains(id, "*") {
		return errValue
	}
	*n = UserName(text)
	return nil
}

func (ids *UserIDs) UnmarshalText(text []byte) error {
	return splitUsers(string(text), false, (*[]string)(ids))
}

func (globs *UserGlobs) UnmarshalText(text []byte) error {
	return splitUsers(string(text), true, (*[]string)(globs))
}

// splitUsers parses a list separated by commas or white space. The error names the
// first invalid part.
func splitUsers(list string, globs bool, out *[]string) error {
	parts := items(list)
	for _, part := range parts {
		if !policy.IsEntry(part) || !globs && strings.Contains(part, "*") {
			return fmt.Errorf("%q is not a user ID", part)
		}
	}
	*out = parts
	return nil
}

// RoomID is a Matrix room ID in a setting; newer IDs contain no server.
type RoomID string

func (r *RoomID) UnmarshalText(text []byte) error {
	if !policy.IsRoom(string(text)) {
		return errValue
	}
	*r = RoomID(text)
	return nil
}
