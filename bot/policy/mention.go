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

// Mentioned reports whether a message addresses the bot: by m.mentions if the sender's
// client sets it, otherwise by the bot's full ID or display name as separate words of
// the text, or by a link to it. Quoted text of a reply fallback does not count, and
// neither does @room.
func Mentioned(m event.Message, bot, displayname string) bool {
	if bot == "" {
		return false
	}
	if m.Mentions != nil {
		return slices.Contains(m.Mentions, bot)
	}
	body := m.Body
	if m.RelatesTo != (event.Relation{}) && (strings.HasPrefix(body, "> <") || strings.HasPrefix(body, "> * <")) {
		body = afterQuote(body)
	}
	return spokenTo(body, bot, false) || spokenTo(fold(body), fold(strings.TrimSpace(displayname)), true) || linked(m.FormattedBody, bot)
}

// afterQuote returns the text after the lines of a reply fallback.
func afterQuote(body string) string {
	for strings.HasPrefix(body, ">") {
		_, rest, _ := strings.Cut(body, "\n")
		body = rest
	}
	return body
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
