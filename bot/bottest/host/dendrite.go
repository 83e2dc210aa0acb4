package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// dendrite is built by deploy/homeserver/build.
type dendrite struct{ start string }

// Dendrite is the homeserver that tests run on unless they are told otherwise. Scripts is the folder deploy of the
// repository.
func Dendrite(scripts string) Software {
	return dendrite{filepath.Join(scripts, "homeserver", "start")}
}

// DendriteFolder is the folder of its programs.
func DendriteFolder() string { return Cached("MATRIX_TUI_DENDRITE", "bin") }

func (dendrite) Name() string { return "Dendrite" }

func (dendrite) Missing() string {
	if _, err := os.Stat(filepath.Join(DendriteFolder(), "dendrite")); err != nil {
		return fmt.Sprintf("no Dendrite in %q: set MATRIX_TUI_DENDRITE", DendriteFolder())
	}
	return ""
}

func (d dendrite) Command(data string, port int) (argv, env []string) {
	return []string{d.start, data, strconv.Itoa(port)}, []string{"MATRIX_TUI_DENDRITE=" + DendriteFolder()}
}

func (dendrite) Limit(_ context.Context, data, except string) error {
	path := filepath.Join(data, "dendrite.yaml")
	config, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration of Dendrite: %w", err)
	}
	limits := fmt.Sprintf(`rate_limiting: {enabled: true, threshold: 1, cooloff_ms: 1500, exempt_user_ids: [%q]}`, except)
	config = regexp.MustCompile(`rate_limiting: .*`).ReplaceAllLiteral(config, []byte(limits))
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("write configuration of Dendrite: %w", err)
	}
	return nil
}

func (dendrite) Uploads(ctx context.Context, data, user string) ([]Upload, error) {
	return uploads(ctx, filepath.Join(data, "media.db"),
		`SELECT media_id, content_type, upload_name FROM mediaapi_media_repository WHERE user_id = ?`, user)
}
