package person

import (
	"context"
	"fmt"

	"maunium.net/go/mautrix/id"
)

// Profile is what a user is called, and the address of their picture; "" for
// what they have none of.
func (p *Person) Profile(ctx context.Context, user string) (name, picture string, err error) {
	profile, err := p.cli.GetProfile(ctx, id.UserID(user))
	if err != nil {
		return "", "", fmt.Errorf("read profile of %s: %w", user, err)
	}
	return profile.DisplayName, profile.AvatarURL.String(), nil
}
