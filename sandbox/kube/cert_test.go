package kube

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	first, public, err := Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "door.pem"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	block, rest := pem.Decode(public)
	if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 || !bytes.Equal(block.Bytes, first.Leaf.Raw) {
		t.Errorf("%s", public)
	}
	if _, is := first.PrivateKey.(ed25519.PrivateKey); !is || first.Leaf.IsCA {
		t.Errorf("%T, %+v", first.PrivateKey, first.Leaf)
	}
	roots := x509.NewCertPool()
	roots.AddCert(first.Leaf)
	for _, years := range []int{0, 19} {
		at := x509.VerifyOptions{Roots: roots, DNSName: "matrix-tui", CurrentTime: time.Now().AddDate(years, 0, 0)}
		if _, err := first.Leaf.Verify(at); err != nil {
			t.Errorf("in %d years: %v", years, err)
		}
	}
	again, same, err := Certificate(dir)
	if err != nil || !bytes.Equal(public, same) || !again.PrivateKey.(ed25519.PrivateKey).Equal(first.PrivateKey) {
		t.Errorf("another one at the next start: %v", err)
	}
}

// A damaged certificate is told and not replaced: the pods that run trust no other.
func TestCertificateDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "door.pem")
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Certificate(dir); err == nil {
		t.Error("no error")
	}
	if data, err := os.ReadFile(path); string(data) != "damaged" || err != nil {
		t.Errorf("%s, %v", data, err)
	}
	if _, _, err := Certificate(filepath.Join(dir, "missing")); err == nil {
		t.Error("no error without a folder")
	}
}
