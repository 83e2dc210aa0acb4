package recall

import (
	"math"
	"strings"
	"unicode"

	"matrix-tui/state/clean"
)

var (
	// notAsked are names in which a word for a secret means something else.
	notAsked = compiled(` (?:pass(?:word|phrase)|secrets?|tokens?|credentials?|passwort|kennwort|api key|key) ` +
		`(?:manager|polic|hash|field|length|strength|stor|engine|rotation|limit|count|budget|usage|bucket|type|ring|reset|form|scanner|backend|` +
		`provider|name|expir|validat|login|auth|based|rule|generator|box)\w* `)
	asked = compiled(` (?:\S*pass(?:word|wd|phrase|code|wort|wörter)\S*|api ?keys?|secrets?|\S*tokens?|credentials?|otp|logins?|\S*kennwort|` +
		`(?:one time|2fa|mfa|totp|verification|security|login|sms|backup|confirmation|authenticat\w+|recovery|access) (?:code|password|phrase)s?|` +
		`(?:private|recovery|access|secret|ssh|encryption|signing|security|deploy|master|license) keys?|seed phrase|pin ?(?:code|number|nummer)|` +
		`(?:the|your|my|a|its|der|die|den|deine?|ihre?|eine?|welche|le|ton|votre|el|tu|su|ваш|твой|sim) pin|geheimzahl|geheimnis|` +
		`zugangs(?:daten|code)|anmeldedaten|einmal ?code|(?:bestätigungs|sicherheits|prüf)code|\S*schlüssel|mots? de passe|phrase secrète|jeton|` +
		`clé (?:api|d api|privée|secrète|de récupération|d accès)|identifiants|code (?:pin|à usage unique|de vérification|secret)|` +
		`código (?:de verificación|de un solo uso|pin)|contraseñas?|clave|llave privada|credenciales|secreto|парол\S*|токен\S*|секрет\S*|` +
		`ключ\S*|пин(?: ?код\S*)?|код\S* (?:подтверждения|доступа)|одноразов\S* код\S*|уч[её]тн\S+ данн\S+|кодов\S+ фраз\S+) `)
	demand = compiled(` (?:give|tell|send|enter|provide|need|paste|type|share|please|have|want|gib|nenne?|schicke?|sende?|sag|brauche|` +
		`benötige|bitte|donnez?|envoyez?|besoin|entrez|saisi\w+|dame|dime|envía\w*|necesito|escribe|introdu\w+|дай(?:те)?|пришли(?:те)?|` +
		`скажи(?:те)?|нуж\S+|введи(?:те)?|укажи(?:те)?) `)
	notValue = compiled(`^ (?:should|shall|is|are|does|did|will|must|may i|i|how|where|why|when|who|soll|sollen|ist|sind|wird|werden|wo|` +
		`warum|wann|wer|wie (?:lang|viele|oft|soll)|où|combien|pourquoi|quand|dónde|cuánt\S+|cuándo|где|почему|когда|сколько) `)
)

// AsksForSecret reports whether a question asks for a password, a key, a code or the like.
func AsksForSecret(question string) bool {
	for _, s := range sentences(clean.Clip(question, maxText)) {
		w := notAsked().ReplaceAllString(words(s), " ")
		if !asked().MatchString(w) {
			continue
		}
		if demand().MatchString(w) || !notValue().MatchString(w) && (strings.HasSuffix(s, "?") || strings.Count(w, " ") < 6) {
			return true
		}
	}
	return false
}

var (
	idLike = compiled(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^(?:sha\d+:)?(?:[0-9a-f]{7,16}|[0-9a-f]{40}|[0-9a-f]{64})$|` +
		`^[0-9a-f]*(?::[0-9a-f]*){2,}$|^\d{4}-\d{2}-\d{2}|^[\d+().,:/-]+$`)
	wordLike = compiled(`^(?:v?\d+|(?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,})+\d{0,4}|[a-z])?$`)
)

// LooksSecret reports whether an answer is a single word that was generated to be a secret: at least 12 characters of
// several kinds in no order.
func LooksSecret(answer string) bool {
	s := strings.Trim(strings.TrimSpace(answer), "`\"'")
	if len(s) < 12 || len(s) > maxValue || strings.ContainsFunc(s, unicode.IsSpace) || public().MatchString(s) ||
		idLike().MatchString(s) {
		return false
	}
	count, kinds, ordinary := map[rune]int{}, map[int]bool{}, true
	for _, c := range s {
		count[c]++
		switch {
		case unicode.IsUpper(c):
			kinds[1] = true
		case unicode.IsLower(c):
			kinds[2] = true
		case unicode.IsDigit(c):
			kinds[3] = true
		default:
			kinds[4] = true
		}
	}
	for _, part := range strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune("-_.:/@,=", c) }) {
		ordinary = ordinary && wordLike().MatchString(part)
	}
	entropy, n := 0.0, float64(len([]rune(s)))
	for _, k := range count {
		entropy -= float64(k) / n * math.Log2(float64(k)/n)
	}
	return !ordinary && len(kinds) > 1 && entropy >= 2.8
}

var sentenceEnd = compiled(`[.?!…。？！]+["”)*_]*(?:\s+|$)|\n+`)

// sentences returns the sentences of a text with their punctuation. Every line ends one.
func sentences(text string) []string {
	var all []string
	start := 0
	for _, m := range append(sentenceEnd().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if short().MatchString(text[max(start, m[1]-12):m[1]]) {
			continue // a full stop in an abbreviation
		}
		if s := strings.TrimSpace(text[start:m[1]]); s != "" {
			all = append(all, s)
		}
		start = m[1]
	}
	return all
}

var short = compiled(`(?i)\b(?:e\.g|i\.e|z\. ?b|d\. ?h|etc|ca|bzw|usw|vs|mr|mrs|dr|nr|z)\. +$`)

// words returns the words of a text in lower case, separated by single spaces and with one at both ends. Punctuation is
// left out; other symbols are kept.
func words(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Sk, c), unicode.Is(unicode.Variation_Selector, c):
			return -1 // the colour of an emoji
		case unicode.IsPunct(c), unicode.IsSpace(c):
			return ' '
		}
		return unicode.ToLower(c)
	}, s)
	return " " + strings.Join(strings.Fields(s), " ") + " "
}
