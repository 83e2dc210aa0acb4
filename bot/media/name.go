package media

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxName bounds a file's name, in bytes; file systems allow 255.
	maxName = 120
	// maxEvent is the length of an event ID in current rooms without its $; longer ones are cut.
	maxEvent = 43
	// maxExt bounds an extension that is kept when a name is cut, with its dot.
	maxExt = 16
	// maxRaw bounds the part of a name that is used, in bytes.
	maxRaw = 4096
)

// SafeName is the inbox name of a file that came with an event: "<event>-<name>", at
// most 120 bytes of letters and digits of any script, dots, dashes and underscores. It
// never begins with a dot or a dash, contains no folder, and cannot collide with the
// file of another event.
func SafeName(event, name string) string {
	event = safeEvent(event)
	return event + "-" + clean(name, maxName-len(event)-1)
}

// CleanName cleans a name given by somebody else: the last part of a path, in the
// characters that SafeName allows. It is never empty.
func CleanName(name string) string { return clean(name, maxName) }

// safeEvent turns an event ID into a part of a name. IDs that lose characters get a hash, so that they remain distinct.
func safeEvent(event string) string {
	raw := strings.TrimPrefix(event, "$")
	kept := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, raw)
	kept = strings.TrimLeft(kept, "-")
	if kept == raw && kept != "" && len(kept) <= maxEvent {
		return kept
	}
	sum := sha256.Sum256([]byte(event))
	const hashed = 10
	kept = strings.TrimRight(kept[:min(len(kept), maxEvent-hashed-1)], "-")
	if kept == "" {
		kept = "event"
	}
	return kept + "-" + hex.EncodeToString(sum[:hashed/2])
}

// clean returns a valid name of at most max bytes; max is at least 20.
func clean(name string, max int) string {
	name = strings.TrimRight(name, `/\`)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if len(name) > maxRaw {
		name = name[:maxRaw/2] + name[len(name)-maxRaw/2:]
	}
	// Compatibility forms first: they can turn into dots and slashes.
	name = norm.NFKC.String(strings.ToValidUTF8(name, "_"))
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '.', r == '-', unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.M, r):
			return r
		case unicode.Is(unicode.Cf, r): // bidi marks and joiners are invisible
			return -1
		}
		return '_'
	}, name)
	for _, double := range []string{"_", "."} {
		for strings.Contains(name, double+double) {
			name = strings.ReplaceAll(name, double+double, double)
		}
	}
	// A combining mark needs a letter before it.
	name = strings.TrimLeftFunc(name, func(r rune) bool {
		return strings.ContainsRune("._-", r) || unicode.Is(unicode.M, r)
	})
	name = strings.TrimRight(name, "._-")
	if name == "" {
		return "file"
	}
	return shorten(name, max)
}

// shorten cuts a name between two characters and keeps a short extension.
func shorten(name string, max int) string {
	if len(name) <= max {
		return name
	}
	ext := extension(name)
	stem := name[:max-len(ext)]
	for len(stem) > 0 && !utf8.RuneStart(name[len(stem)]) {
		stem = stem[:len(stem)-1]
	}
	if stem = strings.TrimRight(stem, "._-"); stem == "" {
		stem = "file"
	}
	return stem + ext
}

// extension returns the end of a name from its last dot on, "" if that does not look like an extension.
func extension(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name)-dot > maxExt || dot == len(name)-1 {
		return ""
	}
	return name[dot:]
}
