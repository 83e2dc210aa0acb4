package serve

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/bot/policy"
)

// hostZone returns the host's time zone with its IANA name, UTC if that is unknown. [time.Local] has no name. Set is
// the variable TZ, etc the folder /etc.
func hostZone(set, etc string) *time.Location {
	link, _ := os.Readlink(filepath.Join(etc, "localtime"))
	file, _ := os.ReadFile(filepath.Join(etc, "timezone"))
	for _, name := range []string{strings.TrimPrefix(set, ":"), link, strings.TrimSpace(string(file))} {
		if _, below, found := strings.Cut(name, "/zoneinfo/"); found {
			name = below
		}
		if zone, err := policy.Zone(name); err == nil && zone != nil {
			return zone
		}
	}
	return time.UTC
}
