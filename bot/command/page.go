package command

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"matrix-tui/bot/policy"
)

// PageCode is the length of a code that a browser shows.
const PageCode = 8

// isPageCode matches one, as base32 writes it.
var isPageCode = regexp.MustCompile(fmt.Sprintf(`^[A-Z2-7]{%d}$`, PageCode))

// page runs !page: it says where the page is, signs a browser in, or all of the sender's out. Nothing that it sends
// helps anybody to sign in: the homeserver and everybody in the room may read it.
func page(ctx context.Context, c *Call) (string, error) {
	code := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(c.text))
	switch {
	case c.PageURL == "":
		return "I have no page here: whoever runs me can turn it on with `WEB_LISTEN`.", nil
	case code == "":
		return "My page is at " + c.PageURL + ". It shows you a code: send me `!page` and that code.", nil
	case code == "OFF":
		if err := c.Bot.SignOut(ctx, c.Row.Sender); err != nil {
			return "", err
		}
		return "All of your browsers are signed out.", nil
	case !isPageCode.MatchString(code):
		return "That is not a code from the page: a code has eight letters and digits. Find it at " + c.PageURL + ".", nil
	case !c.Row.IsDecrypted() && c.Proof.All != policy.ProofOff:
		// the homeserver could have written it, to see what is encrypted elsewhere
		return "I take a code only in an encrypted message. Turn on encryption here, or send it in an encrypted chat with " +
			"me.", nil
	}
	if c.byOwner() { // who sees all rooms there
		if said, err := c.Proof.Missing(ctx, c.Row.Event, policy.ProofOwners); err != nil || said != "" {
			return said, err
		}
	}
	number, err := c.Bot.Admit(ctx, code, c.Row.Sender, c.Row.Encryption)
	if err != nil {
		return "", err
	}
	return "Enter `" + number + "` in the browser that shows this code, within 10 minutes: it is signed in as you then. " +
		"Do not tell anybody the number, not even me. If you have not opened the page yourself, ignore it.", nil
}
