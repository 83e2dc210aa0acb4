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
	// maxExt bounds an extension that is kept when a name is cut, with its dot.
	maxExt = 16
	// maxRaw bounds the part of a name that is used, in bytes.
	maxRaw = 4096
)

// CleanName cleans a name given by somebody else: at most 120 bytes of the last part of a path, in letters and digits
// of any script, dots, dashes and underscores. It never begins with a dot or a dash, and is never empty.
func CleanName(name string) string { return clean(name, maxName) }

// distinct returns a clean name that no file of another event has, such as "photo-3fa9c1d2.png".
func distinct(name, event string) string {
	sum := sha256.Sum256([]byte(event))
	const hashed = 4
	ext := extension(name)
	return shorten(strings.TrimSuffix(name, ext), maxName-len(ext)-2*hashed-1) + "-" + hex.EncodeToString(sum[:hashed]) +
		ext
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
