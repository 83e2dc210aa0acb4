package e2ee

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"maunium.net/go/mautrix/crypto/attachment"
)

func TestFile(t *testing.T) {
	for _, plain := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("secret "), 10_000)} {
		data := bytes.Clone(plain)
		file, err := EncryptFile(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) > 1 && bytes.Contains(data, []byte("secret")) {
			t.Error("the file is not encrypted")
		}
		file, err = FileAt(file, "mxc://localhost/abc")
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			URL     string            `json:"url"`
			Version string            `json:"v"`
			Hashes  map[string]string `json:"hashes"`
		}
		if err := json.Unmarshal(file, &got); err != nil || got.URL != "mxc://localhost/abc" || got.Version != "v2" || got.Hashes["sha256"] == "" {
			t.Errorf("description %s: %v", file, err)
		}
		changed := append(bytes.Clone(data), 'x')
		if err := decryptFile(file, changed); !errors.Is(err, attachment.ErrHashMismatch) {
			t.Errorf("a changed file: %v", err)
		}
		if err := decryptFile(file, data); err != nil || !bytes.Equal(data, plain) {
			t.Errorf("decrypts to %d bytes: %v", len(data), err)
		}
	}
}

func FuzzDecryptFile(f *testing.F) {
	file, _ := EncryptFile([]byte("seed"))
	f.Add(string(file), []byte("seed"))
	f.Add(`{"v":"v2","key":{"alg":"A256CTR","k":""},"iv":"","hashes":{}}`, []byte{})
	f.Add(`null`, []byte("x"))
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		if err := decryptFile(json.RawMessage(file), data); err == nil && file == "" {
			t.Error("decrypts without a key")
		}
	})
}

// decryptFile decrypts data in place, after it has checked the hash in the file
// object.
func decryptFile(file json.RawMessage, data []byte) error {
	var f attachment.EncryptedFile
	if err := json.Unmarshal(file, &f); err != nil {
		return fmt.Errorf("parse file object: %w", err)
	}
	if err := f.DecryptInPlace(data); err != nil {
		return fmt.Errorf("decrypt file: %w", err)
	}
	return nil
}
