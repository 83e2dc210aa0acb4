package recall

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"matrix-tui/state/clean"
)

const (
	mark      = "[secret]" // replaces a secret
	minSecret = 6          // the shortest secret, in bytes: shorter ones are also parts of ordinary words
	maxText   = 1 << 20    // the longest text that is read, in bytes
	maxValue  = 4 << 10    // the longest value that a name is given, in bytes
)

// Filter removes secrets from text. Several goroutines may use it at once.
type Filter struct {
	known []form // the longest first
}

// form is one way to write a secret.
type form struct {
	text   string
	base64 bool // may be part of a longer base64 text
}

// NewFilter returns a filter that knows some secrets. It ignores those under 6 bytes.
func NewFilter(secrets ...string) *Filter { return &Filter{known: forms(secrets)} }

// Clean replaces every secret in a text with [secret]: those that the filter knows, more that only this caller knows,
// and everything that has the form of a secret. The result is also cleaned by clean.Text. Of a text over 1 MiB, only
// the beginning is returned, cut between words.
func (f *Filter) Clean(text string, more ...string) string {
	text = clean.Text(head(text)) // removes what would split a secret
	known := f.known
	if len(more) > 0 {
		known = slices.Concat(known, forms(more))
		slices.SortStableFunc(known, longest)
	}
	for _, form := range known {
		text = form.hide(text)
	}
	return hideAssigned(hideShapes(text))
}

// head returns the beginning of a text that is too long. It ends between words, because part of a secret would not be
// recognised.
func head(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = text[:maxText]
	return text[:max(maxText-maxValue, strings.LastIndexAny(text, " \t\n"))]
}

func longest(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) }

// forms returns the ways to write some secrets.
func forms(secrets []string) []form {
	var all []form
	add := func(text string) {
		if len(text) >= minSecret && !strings.Contains(mark, text) {
			all = append(all, form{text: text})
		}
	}
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) < minSecret {
			continue
		}
		query, path := url.QueryEscape(secret), url.PathEscape(secret)
		script := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(query)
		for _, escaped := range []string{query, path, script, strings.ReplaceAll(query, "+", "%20")} {
			add(escaped)
			add(lowerHex().ReplaceAllStringFunc(escaped, strings.ToLower))
		}
		add(clean.Text(secret))
		add(html.EscapeString(secret))
		quoted, _ := json.Marshal(secret) // escapes <, > and & too
		add(strings.Trim(string(quoted), `"`))
		add(plainJSON.Replace(string(quoted[1 : len(quoted)-1])))
		all = append(all, inBase64(secret)...)
	}
	slices.SortStableFunc(all, longest)
	return slices.Compact(all)
}

var (
	lowerHex  = compiled(`%[0-9A-F]{2}`)
	plainJSON = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
)

// inBase64 returns what a secret looks like in a base64 text: three ways, because it may start anywhere in a group of
// three bytes. The characters at both ends that also depend on the bytes around it are left out.
func inBase64(secret string) []form {
	var all []form
	for before := range 3 {
		padded := strings.Repeat("x", before) + secret
		first, end := (before*8+5)/6, len(padded)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, form{text: encoding.EncodeToString([]byte(padded))[first:end], base64: true})
		}
	}
	return all
}

// hide replaces every occurrence.
func (f form) hide(s string) string {
	if !f.base64 {
		return strings.ReplaceAll(s, f.text, mark)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, f.text)
		if !found {
			b.WriteString(s)
			return b.String()
		}
		// The next character on both sides has some bits of the secret.
		b.WriteString(before[:len(before)-len(base64Last().FindString(before[max(0, len(before)-1):]))])
		b.WriteString(mark)
		s = after[len(base64Next().FindString(after[:min(len(after), 3)])):]
	}
}

var (
	base64Last = compiled(`[A-Za-z0-9+/_-]$`)
	base64Next = compiled(`^[A-Za-z0-9+/_-]?={0,2}`)
)

// Approval reports whether a question and its answer only grant or refuse permission: the question is the bot's own
// about a command, the answer is a plain yes or no, or the question asks for permission and the answer begins with a
// yes or no.
func Approval(question, answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(clean.Rules{OneLine: true, Invisible: true, Bytes: maxValue}.Text(answer)))
	switch {
	case strings.HasPrefix(strings.TrimSpace(question), "May I run this command"):
		return true
	case onlyVerdict().MatchString(strings.TrimSpace(words(answer))):
		return true
	}
	return permission().MatchString(strings.ToLower(clean.Line(question, maxValue))) && verdictFirst().MatchString(answer)
}

const verdicts = `yes|yep|yeah|yup|yes please|y|n|no|nope|nah|ok|okay|sure|of course|certainly|go ahead|go for it|do it|` +
	`do that|run it|proceed|approved?|den(?:y|ied)|reject(?:ed)?|refused?|not now|not yet|cancel|don t|do not|` +
	`ja|jep|jo|nein|nee|nö|klar|gerne?|mach(?:e)?(?: (?:es|das|mal))?|leg los|auf keinen fall|` +
	`oui|non|vas y|d accord|bien sûr|sí|si|claro|adelante|vale|да|нет|ага|конечно|давай(?:те)?|не надо|хорошо|是|不|好|好的|` +
	`👍|👎|✅|❌|✔|✖|👌|🆗`

var (
	onlyVerdict = compiled(`^(?:(?:` + verdicts + `|please|thanks|thank you|just|then|now|never mind|later|stop|` +
		`correct|right|exactly|absolutely|definitely|fine|i am sure|bitte|danke|genau|richtig|stimmt|merci|gracias|спасибо|` +
		`s il (?:te|vous) plaît|por favor|пожалуйста|this|that|it)(?: |$))+$`)
	verdictFirst = compiled(`^(?:` + strings.ReplaceAll(verdicts, "don t", "don['’]?t") + `)(?:$|[\s,.!;:…]|[-–—]\s)`)
	permission   = compiled(`(?:^|[.!?:;,¿] ?|\bso )(?:(?:may|shall|should|can|could) (?:i|we)\b|do you want (?:me|us) to\b|` +
		`would you like (?:me|us) to\b|(?:is|would) it (?:be )?(?:ok|okay|fine|all ?right) (?:if|to|for)\b|(?:ok|okay) (?:if|to)\b|` +
		`am i allowed\b|(?:darf|soll|kann|dürfen|sollen) (?:ich|wir)\b|möchtest du, dass ich\b|ist es (?:ok|okay|in ordnung)\b|` +
		`puis-je\b|dois-je\b|est-ce que je (?:peux|dois)\b|(?:puedo|debo|quieres que)\b|(?:можно(?: ли)?|могу(?: ли)? я|мне) )`)
)
