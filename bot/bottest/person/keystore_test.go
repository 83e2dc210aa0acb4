package person

import (
	"fmt"
	"sync"
	"testing"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/id"
)

// Two goroutines use the store at once, which the race detector watches.
func TestKeyStore(t *testing.T) {
	var s crypto.Store = &keyStore{MemoryStore: crypto.NewMemoryStore(nil)}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for i := range 100 {
				signer := id.Ed25519(fmt.Sprint(i))
				_ = s.PutSignature(t.Context(), "@ann:x", "signed", "@ann:x", signer, "signature")
				_ = s.PutCrossSigningKey(t.Context(), "@ann:x", id.XSUsageMaster, signer)
				keys, _ := s.GetCrossSigningKeys(t.Context(), "@ann:x")
				by, _ := s.GetSignaturesForKeyBy(t.Context(), "@ann:x", "signed", "@ann:x")
				if ok, err := s.IsKeySignedBy(t.Context(), "@ann:x", "signed", "@ann:x", signer); !ok || err != nil || len(keys) != 1 || by[signer] == "" {
					t.Errorf("%v, %v, %v, %v", ok, err, keys, by)
				}
			}
		})
	}
	both.Wait()
}
