package bot

import (
	"context"
)

// displayName is what the bot calls itself where nobody has given it a name.
const displayName = "matrix-tui"

// introduce gives the account a name and a picture where it has none. A person
// may change both; they stay.
func (b *Bot) introduce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name, picture, err := b.account.Profile(ctx)
	if err != nil {
		b.log.Debug().Err(err).Msg("read own profile")
		return
	}
	b.called.Store(name)
	if name == "" || name == b.account.Localpart() {
		if err := b.account.SetName(ctx, displayName); err != nil {
			b.log.Warn().Err(err).Msg("set display name")
		} else {
			b.called.Store(displayName)
		}
	}
	if !picture {
		if err := b.setAvatar(ctx); err != nil {
			b.log.Warn().Err(err).Msg("set avatar")
		}
	}
}

func (b *Bot) setAvatar(ctx context.Context) error {
	picture, err := avatar()
	if err != nil {
		return err
	}
	return b.account.SetPicture(ctx, picture, "image/png")
}
