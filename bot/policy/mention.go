package policy

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"matrix-tui/state/event"
)

// Addressee is whom a message addresses.
type Addressee int

const (
	Nobody Addressee = iota // in particular
	Others                  // people, and not the bot
	TheBot
)

// Addressed returns whom a message addresses. A text that begins with the bot's name addresses the bot. Otherwise
// m.mentions decides if the sender's client sets it, else the bot's full ID or display name as separate words of the
// text, or a link to it. @room does not count.
func Addressed(m event.Message, bot, displayname string) Addressee {
	if bot == "" {
		return Nobody
	}
	_, named := AfterName(m.Body, bot, displayname)
	switch {
	case named, slices.Contains(m.Mentions, bot):
		return TheBot
	case len(m.Mentions) > 0:
		return Others
	case m.Mentions != nil:
		return Nobody
	case namesOf(bot, displayname).in(m.Body), linked(m.FormattedBody, bot):
		return TheBot
	}
	return Nobody
}

// What may stand around a name, as parts of regular expressions: it is not inside a word, an address, a path, or
// another user's ID. An ID, or a name after @, may go on after a colon.
const (
	inWord    = `_\pL\pM\p{Nd}`
	closes    = `(?:$|[^` + inWord + `./@-]|[./@-](?:$|[^` + inWord + `]))`
	closesID  = `(?:$|[^` + inWord + `:./@-]|[:./@-](?:$|[^` + inWord + `]))`
	opensID   = `(?:^|[^` + inWord + `])`
	opensAt   = `(?:^|[^` + inWord + `/:])`
	opensName = `(?:^|[^` + inWord + `@./:-]|` + opensAt + `[./:-])`
)

// literal is a name in a regular expression, in which upper and lower case are the same; "" stays so.
func literal(name string) string {
	if name = strings.TrimSpace(name); name == "" {
		return ""
	}
	return "(?i:" + regexp.QuoteMeta(strings.ToValidUTF8(name, "\ufffd")) + ")"
}

// names finds the bot's names in texts.
type names struct {
	bot, displayname string
	first, anywhere  *regexp.Regexp
}

// lastNames are those that were asked for last: they hardly ever change, and a regular expression takes milliseconds.
var lastNames atomic.Pointer[names]

func namesOf(bot, displayname string) *names {
	if n := lastNames.Load(); n != nil && n.bot == bot && n.displayname == displayname {
		return n
	}
	local, _, _ := strings.Cut(bot, ":")
	id, local, name := literal(bot), literal(strings.TrimPrefix(local, "@")), literal(displayname)
	first := "(" + id + ")" + closesID + "|(@" + local + ")" + closesID + "|(" + local + ")[:,]"
	anywhere := opensID + id + closesID
	if name != "" {
		first += "|(@" + name + ")" + closesID + "|(" + name + ")" + closes
		anywhere += "|" + opensName + name + closes + "|" + opensAt + "@" + name + closesID
	}
	n := &names{bot, displayname, regexp.MustCompile("^(?:" + first + ")"), regexp.MustCompile(anywhere)}
	lastNames.Store(n)
	return n
}

// in reports whether a text contains one of the names. Most texts do not, and a regular expression takes milliseconds
// to find nothing in a long one.
func (n *names) in(body string) bool {
	fold := func(s string) string { return strings.ToLower(strings.ToUpper(s)) } // σ and ς are the same, as there
	folded, name := fold(body), fold(strings.TrimSpace(n.displayname))
	return (name != "" && strings.Contains(folded, name) || strings.Contains(folded, fold(n.bot))) &&
		n.anywhere.MatchString(body)
}

// AfterName returns what follows the bot's name at the beginning of a text, and whether the text begins with it: the
// full ID, the display name with or without @, or the ID's first part as @bot, bot: or bot, as people type it.
func AfterName(body, bot, displayname string) (rest string, named bool) {
	body = strings.TrimLeftFunc(body, event.IsBlank)
	found := namesOf(bot, displayname).first.FindStringSubmatch(body)
	if found == nil || bot == "" {
		return body, false
	}
	rest = body[len(strings.Join(found[1:], "")):] // one of the groups has matched
	return strings.TrimLeftFunc(strings.TrimLeft(rest, ":,"), event.IsBlank), true
}

var href = regexp.MustCompile(`href=(?:"([^"]*)"|'([^']*)')`)

// linked finds a link to a user, as clients write a mention.
func linked(formatted, user string) bool {
	if _, after, ok := strings.Cut(formatted, "</mx-reply>"); ok {
		formatted = after
	}
	return slices.ContainsFunc(href.FindAllStringSubmatch(formatted, -1), func(found []string) bool {
		link := html.UnescapeString(found[1] + found[2])
		target, ok := strings.CutPrefix(link, "https://matrix.to/#/")
		if after, short := strings.CutPrefix(link, "matrix:u/"); short {
			target, ok = "@"+after, true
		}
		target, _, _ = strings.Cut(target, "?")
		target, err := url.PathUnescape(target)
		return ok && err == nil && target == user
	})
}
