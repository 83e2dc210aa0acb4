package serve

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHostZone(t *testing.T) {
	for _, c := range []struct{ set, link, file, want string }{
		{"", "/usr/share/zoneinfo/Europe/Berlin", "Asia/Tokyo\n", "Europe/Berlin"},
		{"", "../usr/share/zoneinfo/Etc/UTC", "", "Etc/UTC"},
		{"", "", "Asia/Tokyo\n", "Asia/Tokyo"},
		{"", "/somewhere/else", "", "UTC"},
		{"", "", "", "UTC"},
		{":America/New_York", "/usr/share/zoneinfo/Europe/Berlin", "", "America/New_York"},
		{"/usr/share/zoneinfo/Asia/Kolkata", "", "", "Asia/Kolkata"},
		{"CET-1CEST", "/usr/share/zoneinfo/Europe/Berlin", "", "Europe/Berlin"},
		{"Local", "", "", "UTC"},
	} {
		etc := t.TempDir()
		if c.link != "" {
			if err := os.Symlink(c.link, filepath.Join(etc, "localtime")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(etc, "timezone"), []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := hostZone(c.set, etc).String(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
