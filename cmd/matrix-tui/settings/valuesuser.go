package settings

import (
	"fmt"
	"strings"

	"matrix-tui/bot/policy"
)

func (n *UserName) UnmarshalText(text []byte) error {
	name := string(text)
	if strings.HasPrefix(name, "@") != strings.Contains(name, ":") || !isUser(name) {
		return errValue
	}
	*n = UserName(name)
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

// isUser checks a localpart or a full ID: graphic characters only, at most 255
// bytes, nothing empty.
func isUser(name string) bool {
	for _, r := range name {
		if r <= ' ' || r == 0x7f || r == ',' || r == '*' {
			return false
		}
	}
	local, server, full := strings.Cut(strings.TrimPrefix(name, "@"), ":")
	return local != "" && len(name) <= 255 && (!full || server != "" && !strings.HasPrefix(server, ":"))
}

// RoomID is a Matrix room ID in a setting; newer IDs contain no server.
type RoomID string

func (r *RoomID) UnmarshalText(text []byte) error {
	if name, ok := strings.CutPrefix(string(text), "!"); !ok || !isUser(name) {
		return errValue
	}
	*r = RoomID(text)
	return nil
}
