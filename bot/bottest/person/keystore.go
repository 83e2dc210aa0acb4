package person

import (
	"context"
	"maps"
	"sync"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"
)

// keyStore is mautrix's store in memory. That one changes the maps of signatures and of cross-signing keys, and returns
// them, while another goroutine may use them: the machine answers requests for room keys on its own.
type keyStore struct {
	*crypto.MemoryStore
	mu sync.Mutex
}

// PutSignature is part of [crypto.Store].
//
//lint:hides it is this method, with a lock
func (s *keyStore) PutSignature(ctx context.Context, signedUser id.UserID, signed id.Ed25519, signerUser id.UserID,
	signer id.Ed25519, signature string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.MemoryStore.PutSignature(ctx, signedUser, signed, signerUser, signer, signature)
}

// GetSignaturesForKeyBy is part of [crypto.Store].
//
//lint:hides it is this method, with a copy
func (s *keyStore) GetSignaturesForKeyBy(ctx context.Context, user id.UserID, key id.Ed25519,
	signer id.UserID) (map[id.Ed25519]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	signatures, err := s.MemoryStore.GetSignaturesForKeyBy(ctx, user, key, signer)
	return maps.Clone(signatures), err
}

// IsKeySignedBy is part of [crypto.Store].
//
//lint:hides it is this method, with a lock
func (s *keyStore) IsKeySignedBy(ctx context.Context, user id.UserID, key id.Ed25519, signerUser id.UserID,
	signer id.Ed25519) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.MemoryStore.IsKeySignedBy(ctx, user, key, signerUser, signer)
}

// DropSignaturesByKey is part of [crypto.Store].
//
//lint:hides it is this method, with a lock
func (s *keyStore) DropSignaturesByKey(ctx context.Context, user id.UserID, key id.Ed25519) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.MemoryStore.DropSignaturesByKey(ctx, user, key)
}

// PutCrossSigningKey is part of [crypto.Store].
//
//lint:hides it is this method, with a lock
func (s *keyStore) PutCrossSigningKey(ctx context.Context, user id.UserID, usage id.CrossSigningUsage,
	key id.Ed25519) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.MemoryStore.PutCrossSigningKey(ctx, user, usage, key)
}

// GetCrossSigningKeys is part of [crypto.Store].
//
//lint:hides it is this method, with a copy
func (s *keyStore) GetCrossSigningKeys(ctx context.Context,
	user id.UserID) (map[id.CrossSigningUsage]id.CrossSigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, err := s.MemoryStore.GetCrossSigningKeys(ctx, user)
	return maps.Clone(keys), err
}
