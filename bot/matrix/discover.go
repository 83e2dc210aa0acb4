package matrix

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix"
)

// Discover returns the address of a server's client-server API from its .well-known
// (https://spec.matrix.org/v1.11/client-server-api/#well-known-uri).
func Discover(ctx context.Context, server string) (address string, err error) {
	known, err := mautrix.DiscoverClientAPI(ctx, server)
	if err != nil {
		return "", fmt.Errorf("discover homeserver of %s: %w", server, err)
	}
	if known == nil || known.Homeserver.BaseURL == "" {
		return "", errors.New("no .well-known/matrix/client found")
	}
	return known.Homeserver.BaseURL, nil
}
