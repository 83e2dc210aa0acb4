package person

import (
	"context"
	"fmt"

	"maunium.net/go/mautrix/id"
)

// Profile returns a user's display name and the address of their picture; "" if they have none.
func (p *Person) Profile(ctx context.Context, user string) (name, picture string, err error) {
	profile, err := p.cli.GetProfile(ctx, id.UserID(user))
	if err != nil {
		return "", "", fmt.Errorf("read profile of %s: %w", user, err)
	}
	return profile.DisplayName, profile.AvatarURL.String(), nil
}
