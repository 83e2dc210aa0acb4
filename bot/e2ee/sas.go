//go:build e2ee

package e2ee

import (
	"context"

	"maunium.net/go/mautrix/event"
)

// SAS is what both sides of a verification see.
type SAS struct {
	User     string
	Emojis   []string // seven, with their names
	Decimals []int
}

type verifier struct{ m *Machine }

func newVerifier(m *Machine) *verifier { return &verifier{m} }

func (v *verifier) take(ctx context.Context, e *event.Event) {}
