package e2ee

import (
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix/crypto/attachment"
)

// EncryptFile encrypts a file for an encrypted room, in the place of its bytes.
// It returns the `file` of the message (or the `thumbnail_file` of its info),
// complete but for the url: see FileAt.
func EncryptFile(data []byte) (json.RawMessage, error) {
	file := attachment.NewEncryptedFile()
	file.EncryptInPlace(data)
	out, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("describe encrypted file: %w", err)
	}
	return out, nil
}

// FileAt adds the address to what EncryptFile returned.
func FileAt(file json.RawMessage, mxc string) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(file, &all); err != nil {
		return nil, fmt.Errorf("read description of encrypted file: %w", err)
	}
	all["url"], _ = json.Marshal(mxc)
	return json.Marshal(all)
}

// DecryptFile decrypts a file, in the place of its bytes, after its hash was
// found to be the one that the message names.
func DecryptFile(file json.RawMessage, data []byte) error {
	var f attachment.EncryptedFile
	if err := json.Unmarshal(file, &f); err != nil {
		return fmt.Errorf("read description of encrypted file: %w", err)
	}
	if err := f.DecryptInPlace(data); err != nil {
		return fmt.Errorf("decrypt file: %w", err)
	}
	return nil
}
