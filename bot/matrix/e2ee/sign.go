package e2ee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/crash"
	"matrix-tui/state/clean"
)

// seedsKey is the name under which crypto.db stores the private cross-signing keys.
const seedsKey = "cross_signing"

// signer signs this device with the account's cross-signing keys.
type signer struct {
	*core
	people   *people
	recovery string // recovery key created by this Open, or ""
	unsigned error  // why the device could not be signed, or nil
}

// RecoveryKey returns the recovery key if Open created one, else "". The key is also
// in the file recovery-key, mode 0600.
func (m *signer) RecoveryKey() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recovery
}

func (m *signer) recoveryFile() string { return filepath.Join(m.cfg.Dir, "recovery-key") }

// loadSeeds loads the private cross-signing keys, if we have them, into the machine.
func (m *core) loadSeeds(ctx context.Context) error {
	text, err := m.db.meta(ctx, seedsKey)
	if err != nil || text == "" {
		return err
	}
	var seeds crypto.CrossSigningSeeds
	if err := json.Unmarshal([]byte(text), &seeds); err != nil {
		return fmt.Errorf("read cross-signing keys: %w", err)
	}
	if err := m.mach.ImportCrossSigningKeys(seeds); err != nil {
		return fmt.Errorf("import cross-signing keys: %w", err)
	}
	return nil
}

func (m *signer) saveSeeds(ctx context.Context, keys *crypto.CrossSigningKeysCache) error {
	text, err := json.Marshal(crypto.CrossSigningSeeds{
		MasterKey: keys.MasterKey.Seed(), SelfSigningKey: keys.SelfSigningKey.Seed(),
		UserSigningKey: keys.UserSigningKey.Seed(),
	})
	if err != nil {
		return err
	}
	if err := m.db.setMeta(ctx, seedsKey, string(text)); err != nil {
		return fmt.Errorf("store cross-signing keys: %w", err)
	}
	return m.loadSeeds(ctx)
}

// ErrPassword means that the device is not signed because the homeserver wants a password that we do not have, or
// does not accept ours.
var ErrPassword = errors.New("the homeserver requires the password (MATRIX_PASSWORD) for new cross-signing keys")

// Unsigned returns why the last attempt to sign the device failed, or nil.
func (m *signer) Unsigned() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsigned
}

// SignAgain repeats a failed attempt to sign the device. Unsigned has its result.
func (m *signer) SignAgain(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsigned == nil {
		return nil
	}
	return m.crossSign(ctx)
}

// crossSign signs this device with the account's cross-signing key and creates that
// key if the account has none. If that fails, messages still work: Unsigned reports
// the problem, and SignAgain or the next Open tries again. m.mu is held.
func (m *signer) crossSign(ctx context.Context) error {
	if err := m.people.fetchKeys(ctx, []id.UserID{m.cfg.Client.UserID}); err != nil {
		return fmt.Errorf("fetch our own keys: %w", err)
	}
	master, signed, err := m.published(ctx)
	switch mine := m.mach.CrossSigningKeys; {
	case err != nil:
	case mine != nil && mine.MasterKey.PublicKey() == master:
		if !signed {
			err = m.signDevice(ctx)
		}
	case master == "":
		err = m.makeKeys(ctx)
	default:
		err = m.recover(ctx)
	}
	m.unsigned = err
	if err != nil && ctx.Err() == nil {
		m.log.Warn().Err(err).Msg("the device is not signed")
		return nil
	}
	return err
}

// published asks the homeserver for the account's public master key, "" if there is
// none, and whether this device is signed. The store cannot tell: it also has keys that were not published, and
// signatures that the homeserver forgot when the device was logged out.
func (m *signer) published(ctx context.Context) (master id.Ed25519, signed bool, err error) {
	user, device := m.cfg.Client.UserID, m.cfg.Client.DeviceID
	resp, err := m.cfg.Client.QueryKeys(ctx, &mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{user: {}}})
	if err != nil {
		return "", false, fmt.Errorf("fetch our own keys: %w", err)
	}
	if _, ok := resp.DeviceKeys[user][device]; !ok {
		return "", false, errors.New("fetch our own keys: the homeserver does not list this device")
	}
	keys := resp.MasterKeys[user]
	return keys.FirstKey(), statusOf(resp, user, device).Signed, nil
}

func (m *signer) signDevice(ctx context.Context) error {
	if err := m.mach.SignOwnDevice(ctx, m.mach.OwnIdentity()); err != nil {
		return fmt.Errorf("sign this device: %w", err)
	}
	if err := m.mach.SignOwnMasterKey(ctx); err != nil {
		return fmt.Errorf("sign our own cross-signing key: %w", err)
	}
	return nil
}

// makeKeys creates and publishes the account's cross-signing keys, or publishes those
// that an earlier attempt created. Everything is on disk before it is published.
func (m *signer) makeKeys(ctx context.Context) error {
	if m.mach.CrossSigningKeys == nil {
		if err := m.generate(ctx); err != nil {
			return err
		}
	}
	var allow string
	err := m.mach.PublishCrossSigningKeys(ctx, m.mach.CrossSigningKeys, func(resp *mautrix.RespUserInteractive) any {
		allow = approval(resp)
		return m.authenticate(resp)
	})
	if err != nil && allow != "" {
		return fmt.Errorf("the homeserver wants the account's owner to allow new cross-signing keys: open %s, allow it, "+
			"and restart the bot within ten minutes: %w", allow, err)
	}
	if err != nil {
		answer := mautrix.HTTPError{}
		if m.cfg.Password == "" && errors.Is(err, mautrix.MForbidden) ||
			errors.As(err, &answer) && answer.IsStatus(http.StatusUnauthorized) {
			return fmt.Errorf("%w: %w", ErrPassword, err)
		}
		return fmt.Errorf("publish cross-signing keys: %w", err)
	}
	return m.signDevice(ctx)
}

// approval returns where the account's owner allows new keys
// (https://spec.matrix.org/v1.17/client-server-api/#oauth-authentication), if that is what the homeserver wants. Both
// spellings are in use.
func approval(resp *mautrix.RespUserInteractive) string {
	for _, stage := range []mautrix.AuthType{"m.oauth", "org.matrix.cross_signing_reset"} {
		if params, ok := resp.Params[stage].(map[string]any); ok {
			address, _ := params["url"].(string)
			return clean.Short(address, 300)
		}
	}
	return ""
}

// authenticate answers a homeserver that asks for the password again.
func (m *signer) authenticate(resp *mautrix.RespUserInteractive) any {
	if m.cfg.Password == "" {
		return nil
	}
	return &mautrix.ReqUIAuthLogin{
		BaseAuthData: mautrix.BaseAuthData{Type: mautrix.AuthTypePassword, Session: resp.Session},
		User:         m.cfg.Client.UserID.String(),
		Password:     m.cfg.Password,
	}
}

// generate creates cross-signing keys and a recovery key, and stores the former on the
// homeserver, encrypted with the latter.
func (m *signer) generate(ctx context.Context) error {
	key, err := m.mach.SSSS.GenerateAndUploadKey(ctx, "")
	if err != nil {
		return fmt.Errorf("create recovery key: %w", err)
	}
	crash.Count("write recovery-key")
	if err := renameio.WriteFile(m.recoveryFile(), []byte(key.RecoveryKey()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write recovery-key: %w", err)
	}
	keys, err := m.mach.GenerateCrossSigningKeys()
	if err != nil {
		return err
	}
	if err := m.mach.UploadCrossSigningKeysToSSSS(ctx, key, keys); err != nil {
		return fmt.Errorf("store cross-signing keys on the homeserver: %w", err)
	}
	if err := m.mach.SSSS.SetDefaultKeyID(ctx, key.ID); err != nil {
		return fmt.Errorf("set the account's recovery key: %w", err)
	}
	m.recovery = key.RecoveryKey()
	return m.saveSeeds(ctx, keys)
}

// recover fetches the account's existing cross-signing keys with the key in the file
// recovery-key.
func (m *signer) recover(ctx context.Context) error {
	text, err := os.ReadFile(m.recoveryFile())
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("another program has created the account's cross-signing keys: put the account's recovery key " +
			"into the file recovery-key and restart, or verify the device by hand")
	}
	if err != nil {
		return fmt.Errorf("read recovery-key: %w", err)
	}
	if err := m.mach.VerifyWithRecoveryKey(ctx, strings.TrimSpace(string(text))); err != nil {
		return fmt.Errorf("sign this device with the key in the file recovery-key: %w", err)
	}
	return m.saveSeeds(ctx, m.mach.CrossSigningKeys)
}
