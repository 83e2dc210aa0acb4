package kube

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"matrix-tui/sandbox/boxinit/relay"
)

const (
	certYears = 20
	certSkew  = 24 * time.Hour // a node's clock may be behind
)

// Certificate returns the door's certificate with its key, and in PEM without it. It is kept in dir/door.pem: pods
// trust no other, so a new one would shut out all that run.
func Certificate(dir string) (certificate tls.Certificate, public []byte, err error) {
	path := filepath.Join(dir, "door.pem")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if data, err = newCertificate(time.Now()); err == nil {
			err = renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir))
		}
	}
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("keep the door's certificate: %w", err)
	}
	certificate, err = tls.X509KeyPair(data, data)
	if err == nil {
		err = certificate.Leaf.VerifyHostname(relay.DoorName)
	}
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("read the door's certificate from %s: %w", path, err)
	}
	return certificate, encodeCertificate(certificate.Leaf.Raw), nil
}

// newCertificate returns a certificate and its key in PEM.
func newCertificate(now time.Time) ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: relay.DoorName},
		DNSNames:     []string{relay.DoorName},
		NotBefore:    now.Add(-certSkew), NotAfter: now.AddDate(certYears, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// It signs no other certificate: who trusts it trusts only its key.
		BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(encodeCertificate(signed), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
