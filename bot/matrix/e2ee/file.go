package e2ee

import (
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix/crypto/attachment"
)

// EncryptFile encrypts data in place and returns the `file` object of the message, or
// the `thumbnail_file` of its info, without the url: see FileAt.
func EncryptFile(data []byte) (json.RawMessage, error) {
	file := attachment.NewEncryptedFile()
	file.EncryptInPlace(data)
	out, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("marshal file object: %w", err)
	}
	return out, nil
}

// FileAt adds the url to a file object from EncryptFile.
func FileAt(file json.RawMessage, mxc string) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(file, &all); err != nil {
		return nil, fmt.Errorf("parse file object: %w", err)
	}
	all["url"], _ = json.Marshal(mxc)
	return json.Marshal(all)
}

// DecryptFile decrypts data in place, after it has checked the hash in the file
// object.
func DecryptFile(file json.RawMessage, data []byte) error {
	var f attachment.EncryptedFile
	if err := json.Unmarshal(file, &f); err != nil {
		return fmt.Errorf("parse file object: %w", err)
	}
	if err := f.DecryptInPlace(data); err != nil {
		return fmt.Errorf("decrypt file: %w", err)
	}
	return nil
}
