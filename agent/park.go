package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"matrix-tui/sandbox"
)

// facts are what the CLI (0.61.0) reads while it starts, found with a trace of its file calls: it sends the names in
// /workspace to the model, follows ignore files, and loads instructions, settings, skills and agents.
var facts = sandbox.Facts{
	Tree: workDir,
	// The CLI does not look into these folders either.
	Skip: []string{".git", "node_modules", "dist", "__pycache__"},
	Files: []string{
		workDir + "/.gemini", workDir + "/.agents", workDir + "/.git/info/exclude",
		dotGemini + "/agents", dotGemini + "/commands", dotGemini + "/extensions", dotGemini + "/policies",
		dotGemini + "/skills",
		dotGemini + "/settings.json", dotGemini + "/trustedFolders.json", dotGemini + "/trusted_hooks.json",
		dotGemini + "/.env",
		dotGemini + "/google_accounts.json", preloadFile, home + "/.agents", home + "/.env",
	},
}

// warmKey stands for everything that a run is started with: a run continues a parked one only if it would have been
// started in the same way.
func warmKey(spec sandbox.RunSpec) string {
	data, err := json.Marshal([]any{spec.Argv, spec.Env, spec.Dir, spec.Files})
	if err != nil {
		panic(err) // strings and bytes
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Park starts the CLI for t without its prompt. A Run within the time d with the same session, model and approvals
// continues from there, if nothing has changed that the CLI reads while it starts; otherwise the parked run is
// discarded. If such a run is parked already, it waits longer. It ends at the task's midnight at the latest: Park
// returns when. Park fails while a run is active in the container.
func (g *Gemini) Park(ctx context.Context, container Container, t Task, d time.Duration) (until time.Time, err error) {
	spec := runSpec(t, g.Offers)
	spec.Argv = command(t)
	until, err = container.ParkRun(ctx, sandbox.Parking{Run: spec, Key: spec.Warm.Key,
		For: parkedFor(time.Now(), t.Zone, d), Facts: facts})
	if err != nil {
		return until, fmt.Errorf("park run %s: %w", t.Run, err)
	}
	return until, nil
}

// parkedFor returns how long a run is parked: for d, but not beyond midnight, because the CLI tells the model today's
// date when it starts.
func parkedFor(now time.Time, zone *time.Location, d time.Duration) time.Duration {
	if zone == nil {
		zone = time.UTC
	}
	year, month, day := now.In(zone).Date()
	return min(d, time.Date(year, month, day+1, 0, 0, 0, 0, zone).Sub(now))
}
