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
