package bot

import (
	"strings"
	"testing"
	"time"
)

// What follows a list of questions in !status is not part of it.
func TestStatusAfterList(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "deploy it", 0)
	d.decides()
	d.asksIn("$1", "Where?", "")
	d.text("$2", "@ann:here", "!status", time.Minute)
	d.decides()
	if said := d.said("$2"); !strings.Contains(said, "here\n\nThe room has no container") {
		t.Errorf("%q", said)
	}
}
