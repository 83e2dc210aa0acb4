package policy

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	case spokenTo(m.Body, bot, false), spokenTo(fold(m.Body), fold(strings.TrimSpace(displayname)), true), linked(m.FormattedBody, bot):
		return TheBot
	}
	return Nobody
}

// AfterName returns what follows the bot's name at the beginning of a text, and whether the text begins with it: the full
// ID, the display name with or without @, or the ID's first part as @bot, bot: or bot, as people type it.
func AfterName(body, bot, displayname string) (rest string, named bool) {
	body = strings.TrimLeftFunc(body, event.IsBlank)
	local, _, _ := strings.Cut(bot, ":")
	displayname = strings.TrimSpace(displayname)
	for _, name := range []string{bot, local, displayname, "@" + displayname, strings.TrimPrefix(local, "@")} {
		rest, ok := cutFold(body, name)
		id := strings.HasPrefix(name, "@")
		switch {
		case !ok || strings.TrimPrefix(name, "@") == "" || !closes(rest, id):
			continue
		case !id && name != displayname && !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ","):
			continue // an ordinary word
		}
		return strings.TrimLeftFunc(strings.TrimLeft(rest, ":,"), event.IsBlank), true
	}
	return body, false
}

// cutFold cuts a prefix in any spelling in upper and lower case.
func cutFold(s, prefix string) (rest string, ok bool) {
	for _, want := range prefix {
		r, size := utf8.DecodeRuneInString(s)
		if size == 0 || r != want && fold(string(r)) != fold(string(want)) {
			return s, false
		}
		s = s[size:]
	}
	return s, true
}

// spokenTo finds a name as separate words: not inside a word, an address, a path, or
// another user's ID.
func spokenTo(body, name string, displayname bool) bool {
	for from := 0; name != ""; {
		at := strings.Index(body[from:], name)
		if at < 0 {
			return false
		}
		at += from
		if opens(body[:at], displayname) && closes(body[at+len(name):], !displayname || strings.HasSuffix(body[:at], "@")) {
			return true
		}
		_, size := utf8.DecodeRuneInString(body[at:])
		from = at + size
	}
	return false
}

// opens reports whether a word can start after before.
func opens(before string, displayname bool) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	if inWord(last) {
		return false
	}
	if displayname && strings.ContainsRune("@./-:", last) {
		ahead, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
		return !inWord(ahead) && ahead != '/' && ahead != ':'
	}
	return true
}

// closes reports whether a word can end before after. In an ID, a colon is part of the
// word, as before a port.
func closes(after string, id bool) bool {
	first, size := utf8.DecodeRuneInString(after)
	if inWord(first) {
		return false
	}
	if first == '.' || first == '-' || first == '/' || first == '@' || id && first == ':' {
		next, _ := utf8.DecodeRuneInString(after[size:])
		return !inWord(next)
	}
	return true
}

// inWord reports whether a rune continues a word; the absence of a rune does not.
func inWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// fold maps all spellings in upper and lower case to the same text.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			if 'a' <= r && r <= 'z' {
				return r - 'a' + 'A'
			}
			return r
		}
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

// linked finds a link to a user, as clients write a mention.
func linked(formatted, user string) bool {
	if _, after, ok := strings.Cut(formatted, "</mx-reply>"); ok {
		formatted = after
	}
	for {
		_, rest, ok := strings.Cut(formatted, "href=")
		if !ok || rest == "" {
			return false
		}
		if quote := rest[0]; quote == '"' || quote == '\'' {
			if link, after, ok := strings.Cut(rest[1:], string(quote)); ok && linkedUser(html.UnescapeString(link)) == user {
				return true
			} else if ok {
				rest = after
			}
		}
		formatted = rest
	}
}

// linkedUser returns the user that a link points to, or "".
func linkedUser(link string) string {
	target, sigil := "", ""
	if rest, ok := strings.CutPrefix(link, "https://matrix.to/#/"); ok {
		target = rest
	} else if rest, ok := strings.CutPrefix(link, "matrix:u/"); ok {
		target, sigil = rest, "@"
	}
	target, _, _ = strings.Cut(target, "?")
	user, err := url.PathUnescape(target)
	if err != nil || target == "" {
		return ""
	}
	return sigil + user
}
