package memories

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/bot/recall"
	"matrix-tui/bot/recall/embed"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
)

// OpenMemory returns what keeps what the rooms have learned. No secret of the bot gets into it.
func OpenMemory(cfg *settings.Config, store *state.Store, journal *state.Journal,
	log zerolog.Logger) (*recall.Memory, error) {
	var secrets []string
	for _, secret := range []settings.Secret{cfg.Password, cfg.AccessToken, cfg.GeminiKey, cfg.APIToken,
		cli.LoadLogin(cfg).Token} {
		secrets = append(secrets, secret.Reveal())
	}
	for _, name := range []string{"recovery-key", "crypto.key"} { // missing before the first login
		key, _ := os.ReadFile(filepath.Join(string(cfg.StateDir), name))
		written := strings.TrimSpace(string(key))
		secrets = append(secrets, written, strings.Join(strings.Fields(written), ""))
	}
	m := recall.New(string(cfg.StateDir), store, journal, log, secrets...)
	if cfg.Embeddings != settings.GeminiEmbeddings || !cfg.GeminiKey.Set() { // `memory search` needs no key
		return m, nil
	}
	client, err := embed.New(string(cfg.GeminiURL), cfg.GeminiKey.Reveal(), string(cfg.EmbeddingModel))
	if err != nil {
		return nil, err
	}
	m.Embeddings(string(cfg.EmbeddingModel), client.Fetch)
	return m, nil
}
