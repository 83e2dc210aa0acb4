package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
	"golang.org/x/text/unicode/norm"
)

// maxWord is the longest word in bytes; of a longer one, which no person writes, only the beginning counts.
const maxWord = 40

// stemmer turns words into stems, and remembers them. It is not safe for concurrent use.
type stemmer struct{ known map[string]string }

func newStemmer() *stemmer { return &stemmer{known: map[string]string{}} }

// stem returns the stem of a word that words has produced.
func (s *stemmer) stem(word string) string {
	if stem, ok := s.known[word]; ok {
		return stem
	}
	stem := stemOf(word)
	if len(s.known) < 50_000 {
		s.known[word] = stem
	}
	return stem
}

func stemOf(word string) string {
	if base, ok := irregular[word]; ok {
		word = base
	}
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case first < utf8.RuneSelf:
		if strings.IndexFunc(word, unicode.IsDigit) >= 0 {
			return word // a version, a host, a hash
		}
		env := snowballstem.NewEnv(word)
		english.Stem(env)
		return env.Current()
	case unicode.Is(unicode.Cyrillic, first):
		env := snowballstem.NewEnv(word)
		russian.Stem(env)
		return env.Current()
	}
	return word
}

// words calls yield for each word of a text in lower case, without accents. Scripts without spaces between words yield
// pairs of characters. Names such as camelCase also yield their parts.
func words(text string, yield func(word string)) {
	for len(text) > 0 {
		skip := strings.IndexFunc(text, isWord)
		if skip < 0 {
			return
		}
		text = text[skip:]
		end, ascii := wordEnd(text)
		word := text[:end]
		text = text[end:]
		if ascii {
			asciiWord(word, yield)
			text = strings.TrimPrefix(strings.TrimPrefix(text, "'s "), "’s ")
		} else {
			otherWord(word, yield)
		}
	}
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// wordEnd returns the length of the word at the start of a text, and whether it is ASCII.
func wordEnd(text string) (end int, ascii bool) {
	ascii = true
	for i, r := range text {
		if !isWord(r) {
			return i, ascii
		}
		if r >= utf8.RuneSelf {
			ascii = false
		}
	}
	return len(text), ascii
}

func asciiWord(word string, yield func(string)) {
	yield(clipWord(strings.ToLower(word)))
	if len(word) > maxWord {
		return
	}
	start, parts := 0, 0
	for i := 1; i < len(word); i++ {
		if isUpper(word[i]) && (!isUpper(word[i-1]) || i+1 < len(word) && isLower(word[i+1])) && isLetter(word[i-1]) {
			if i-start > 1 {
				yield(strings.ToLower(word[start:i]))
				parts++
			}
			start = i
		}
	}
	if parts > 0 && len(word)-start > 1 {
		yield(strings.ToLower(word[start:]))
	}
}

func isUpper(b byte) bool  { return 'A' <= b && b <= 'Z' }
func isLower(b byte) bool  { return 'a' <= b && b <= 'z' }
func isLetter(b byte) bool { return isUpper(b) || isLower(b) }

// otherWord yields a word with characters beyond ASCII: pairs of those in scripts without spaces, words of the rest.
func otherWord(word string, yield func(string)) {
	var plain []rune
	var run []rune
	flush := func() {
		if len(plain) > 0 {
			yield(clipWord(string(plain)))
			plain = plain[:0]
		}
		for i := range run {
			if i+1 < len(run) {
				yield(string(run[i : i+2]))
			} else if i == 0 {
				yield(string(run))
			}
		}
		run = run[:0]
	}
	for _, r := range norm.NFKC.String(word) {
		switch {
		case unspaced(r):
			if len(plain) > 0 {
				flush()
			}
			run = append(run, r)
		case !isWord(r):
			flush()
		default:
			if len(run) > 0 {
				flush()
			}
			plain = append(plain, fold(r)...)
		}
	}
	flush()
}

// unspaced reports whether a character belongs to a script that has no spaces between words, or long words that are
// rather found by pairs of characters.
func unspaced(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

var folded = map[rune]string{'ß': "ss", 'ø': "o", 'æ': "ae", 'œ': "oe", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th",
	'ı': "i", 'й': "й"}

// fold returns a character in lower case and without accents.
func fold(r rune) []rune {
	r = unicode.ToLower(r)
	if to, ok := folded[r]; ok {
		return []rune(to)
	}
	if unicode.Is(unicode.Mn, r) {
		return nil
	}
	if !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
		return []rune{r}
	}
	base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
	return []rune{base}
}

func clipWord(word string) string {
	if len(word) <= maxWord {
		return word
	}
	end := maxWord
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}
