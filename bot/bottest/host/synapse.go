package host

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// synapse is installed by deploy/synapse/build.
type synapse struct{ start string }

// Synapse is the homeserver that most people run. Scripts is the folder deploy of the repository.
func Synapse(scripts string) Software {
	return synapse{filepath.Join(scripts, "synapse", "start")}
}

func synapseFolder() string { return Cached("MATRIX_TUI_SYNAPSE", "synapse") }

func (synapse) Name() string { return "Synapse" }

func (synapse) Missing() string {
	if _, err := os.Stat(filepath.Join(synapseFolder(), "version")); err != nil {
		return fmt.Sprintf("no Synapse in %q: deploy/synapse/build installs it", synapseFolder())
	}
	return ""
}

func (s synapse) Command(data string, port int) (argv, env []string) {
	return []string{s.start, data, strconv.Itoa(port)}, []string{"MATRIX_TUI_SYNAPSE=" + synapseFolder()}
}

// Limit exempts the user where Synapse's admin API would.
func (synapse) Limit(ctx context.Context, data, except string) error {
	path := filepath.Join(data, "homeserver.yaml")
	config, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration of Synapse: %w", err)
	}
	config = regexp.MustCompile(`rc_message: .*`).ReplaceAllLiteral(config,
		[]byte(`rc_message: {per_second: 0.67, burst_count: 1}`))
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("write configuration of Synapse: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "homeserver.db"))
	if err != nil {
		return fmt.Errorf("open database of Synapse: %w", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx,
		`INSERT INTO ratelimit_override (user_id, messages_per_second, burst_count) VALUES (?, 0, 0)`, except); err != nil {
		return fmt.Errorf("exempt %s from limits: %w", except, err)
	}
	return nil
}

func (synapse) Uploads(ctx context.Context, data, user string) ([]Upload, error) {
	return uploads(ctx, filepath.Join(data, "homeserver.db"),
		`SELECT media_id, media_type, coalesce(upload_name, '') FROM local_media_repository WHERE user_id = ?`, user)
}
