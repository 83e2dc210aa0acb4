package e2ee

import (
	"context"
	"fmt"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/signatures"
	"maunium.net/go/mautrix/id"
)

// Status describes the device to people.
type Status struct {
	Device      string // device ID
	Fingerprint string // fingerprint of the device's signing key, in groups of four
	Signed      bool   // the account's cross-signing key has signed it, according to the homeserver
	Problem     string // why it is not signed; "" if it is
}

// Look asks a homeserver how the device of a token appears to others. It needs no keys
// and changes nothing. It returns ErrNoDevice if the token belongs to no device.
func Look(ctx context.Context, homeserver, token string) (Status, error) {
	cli, err := mautrix.NewClient(homeserver, "", token)
	if err != nil {
		return Status{}, fmt.Errorf("read homeserver address: %w", err)
	}
	cli.DefaultHTTPRetries = 0
	who, err := cli.Whoami(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("look up the device: %w", err)
	}
	if who.DeviceID == "" {
		return Status{}, ErrNoDevice
	}
	resp, err := cli.QueryKeys(ctx, &mautrix.ReqQueryKeys{DeviceKeys: mautrix.DeviceKeysRequest{who.UserID: {}}})
	if err != nil {
		return Status{}, fmt.Errorf("fetch the keys of this device: %w", err)
	}
	return statusOf(resp, who.UserID, who.DeviceID), nil
}

// statusOf checks a device's keys and signatures as the homeserver returned them.
func statusOf(resp *mautrix.RespQueryKeys, user id.UserID, device id.DeviceID) Status {
	s := Status{Device: device.String()}
	keys, ok := resp.DeviceKeys[user][device]
	signing := keys.Keys.GetEd25519(device)
	if !ok || signing == "" {
		s.Problem = "It has no keys yet."
		return s
	}
	s.Fingerprint = signing.Fingerprint()
	if ok, err := signatures.VerifySignatureJSON(keys, user, device.String(), signing); err != nil || !ok {
		s.Problem = "Its own signature is invalid."
		return s
	}
	self, has := resp.SelfSigningKeys[user]
	masterKeys := resp.MasterKeys[user]
	master := masterKeys.FirstKey()
	if !has || master == "" {
		s.Problem = "The account has no cross-signing key."
		return s
	}
	if ok, err := signatures.VerifySignatureJSON(self, user, master.String(), master); err != nil || !ok {
		s.Problem = "The account's cross-signing keys do not match each other."
		return s
	}
	if ok, err := signatures.VerifySignatureJSON(keys, user, self.FirstKey().String(), self.FirstKey()); err != nil ||
		!ok {
		s.Problem = "The account's cross-signing key has not signed this device."
		return s
	}
	s.Signed = true
	return s
}
