package recall

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// shape is a secret that its own form or the text next to it tells.
type shape struct {
	re func() *regexp.Regexp // its first group is the secret
	ok func(string) bool

	parts []string // the expression matches only with one of these, which are found faster; nil for always
}

const pemKey = `[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}`

var shapes = []shape{
	{compiled(`(?s)(-{4,5} ?BEGIN ` + pemKey + `.*?-{4,5} ?END ` + pemKey + `)`), anything, []string{"PRIVATE KEY"}},
	{compiled(`(-{4,5} ?BEGIN ` + pemKey +
		`(?:\s*[A-Z][A-Za-z-]+: [^\n]*\n)*(?:(?:\\[nr]|[\s>|"'+,])*[A-Za-z0-9+/=]{20,})+` +
		`(?:(?:\\[nr]|\s)+[A-Za-z0-9+/]+={1,2})?)`), anything, []string{"PRIVATE KEY"}}, // its end was cut off
	{compiled(`((?:[A-Za-z0-9+/]{20,}(?:\\[nr]|[\s>|"'+,])+)+(?:[A-Za-z0-9+/=]+(?:\\[nr]|\s)+)?-{4,5} ?END ` + pemKey +
		`)`), anything, []string{"PRIVATE KEY"}},
	{compiled(`(eyJ[\w-]{10,}(?:\.{1,2}[\w-]+){1,4}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|` +
		`gl(?:dt|rt|cbt|ptt|ft|soat|agent|oas)-[\w-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|` +
		`GOCSPX-[\w-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}|syt_[\w+/=-]{16,}|m[ac][tr]_[A-Za-z0-9]{20,}_\w{6}|` +
		`AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}|do[op]_v1_[a-f0-9]{32,}|dckr_pat_[\w-]{16,}|shp(?:at|ss)_[a-fA-F0-9]{20,}|hvs\.[\w-]{20,})`), mixed,
		strings.Fields("eyJ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- " +
			"gloas- xox xapp- AIza ya29. GOCSPX- sk_ rk_ whsec_ syt_ mat_ mct_ mar_ mcr_ AGE-SECRET doo_v1_ dop_v1_ dckr_pat_ " +
			"shpat_ shpss_ hvs.")},
	{compiled(`(?:^|[^A-Za-z0-9])((?:AKIA|ASIA)[A-Z0-9]{16}|sk-[\w-]{18,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|hf_[A-Za-z0-9]{30,}|` +
		`gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|tskey-[\w-]{16,}|\d{8,10}:AA[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|SK[0-9a-f]{32}|` +
		`1//0[\w-]{30,}|Es[1-9A-HJ-NP-Za-km-z]{2}(?: [1-9A-HJ-NP-Za-km-z]{4}){10,11}(?: [1-9A-HJ-NP-Za-km-z]{1,3})?)\b`),
		mixed, nil},
	{compiled(`hooks\.slack\.com/services/(T\w+/B\w+/\w{10,})`), anything, nil},
	{compiled(`(?i)aws_?secret(?:_?access)?_?key\W{1,12}([A-Za-z0-9/+]{40})`), anything, nil},
	{compiled(`(?i)authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?(?:basic|bearer|token|apikey)[ \t]+([^\s"'\\,$<{*\[%][^\s"'\\,]{5,})`), mixed, nil},
	{compiled(`(?i)\bbearer[ \t]+([\w.~+/=-]{16,})`), mixed, nil},
	{compiled(`://[^\s/:@"'<>]*:([^\s/"'<>$\[{*][^\s/"'<>]*)@`), anything, nil},
	{compiled(`://([^\s/:@"'<>]{16,})(?::[\w-]*)?@`), LooksSecret, nil},
	{compiled(`\b(?:mysql|mariadb|sshpass)\w*\b[^\n|;]*?[ \t]-p["']?([^\s"'$-][^\s"']{5,})`), anything, nil},
	{compiled(`\b(?:mysql|mariadb|sshpass|mycli|(?:docker|podman) login)\w*\b[^\n|;]*?[ \t]-p[ \t]+["']?([^\s"'$-][^\s"']{5,})`), unusual, nil},
	{compiled(`\bredis-cli\b[^\n|;]*?[ \t]-a[ \t]+["']?([^\s"'$-][^\s"']{5,})`), anything, nil},
	{compiled(`\bcurl\b[^\n|;]*?[ \t](?:-u|--user)[ \t]*["']?[^\s:"']+:([^\s"'$][^\s"']{2,})`), anything, nil},
	{compiled(`(?i)\bidentified (?:with \w+ )?by[ \t]+["']([^"'\n]{6,})["']`), anything, nil},
	{compiled(`(?i)\bpin(?:[ -]?(?:code|number|nummer))?[ \t]*(?:is|ist|lautet|[:=])[ \t]*(\d{4,8})\b`), anything, nil},
}

func anything(string) bool { return true }

// mixed reports whether a text has an upper-case letter or a digit, unlike words with hyphens.
func mixed(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.IsUpper(c) || unicode.IsDigit(c) })
}

// unusual reports whether a text has a digit or a symbol that words and names do not have.
func unusual(s string) bool {
	return strings.ContainsFunc(s, unicode.IsDigit) || strings.ContainsAny(s, "!@#$%^&*+?~|=")
}

func hideShapes(s string) string {
	for _, sh := range shapes {
		if sh.parts != nil && !slices.ContainsFunc(sh.parts, func(part string) bool { return strings.Contains(s, part) }) {
			continue
		}
		var b strings.Builder
		done := 0
		for _, m := range sh.re().FindAllStringSubmatchIndex(s, -1) {
			if v := s[m[2]:m[3]]; v != mark && sh.ok(v) {
				b.WriteString(s[done:m[2]] + mark)
				done = m[3]
			}
		}
		s = b.String() + s[done:]
	}
	return s
}

// assigned matches the name of a secret and what is between it and the value, the link.
var assigned = compiled(`(?i)((?:pass(?:word|wd|phrase|wort|code)|kennwort|pwd|\bpass|_pass|secret|token|api[_ -]?(?:key|schlüssel)|` +
	`(?:access|secret|private|auth|encryption|signing|master|recovery|storage|account|shared|license)[_ -]?key|schlüssel|` +
	`contraseña|mot de passe|пароль)(?:[_-]?(?:access[_-]?key|key|value|hash|prod|production|dev|staging|\d))?)\\?["'` +
	"`" + `\])*]{0,3}` +
	`((?:[ \t]+(?:for|of|to|on|from|at|in|für|von|zu|zum|zur|auf|vom|im|am)[ \t][^\n:=.?!]{0,40}?)?(?:[ \t]*(?:=>|:=|==?|:(?:[ \t]*[|>]?-?\n)?)[ \t]*|` +
	`[ \t]+(?:is|was|ist|war|lautet|heißt|est|es|changed to|set to|to|auf|zu)[ \t]*:?[ \t]+(?:(?:now|still|just|set to|jetzt|noch)[ \t]+)?)|>|[ \t]+)`)

// hideAssigned replaces the values that a name or a sentence gives to a secret.
func hideAssigned(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range assigned().FindAllStringSubmatchIndex(s, -1) {
		if m[1] < done {
			continue
		}
		rest := s[m[1]:min(len(s), m[1]+maxValue)]
		start, end, quoted := value(rest)
		v, link := rest[start:end], s[m[4]:m[5]]
		if strings.Contains(link, "\n") && rest[end:] != "" && rest[end] != '\n' {
			continue // the next line has more than the value
		}
		if isAssigned(s[m[2]:m[3]], link, v, quoted, option().MatchString(s[max(0, m[0]-32):m[0]])) {
			b.WriteString(s[done:m[1]+start] + mark)
			done = m[1] + end
		}
	}
	return b.String() + s[done:]
}

var quotes = [][2]string{{`\"`, `\"`}, {`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"«", "»"}}

// value finds the value at the beginning of a text.
func value(s string) (start, end int, quoted bool) {
	line, _, _ := strings.Cut(s, "\n")
	start = len(line) - len(strings.TrimLeft(line, "*_")) // emphasis
	for _, q := range quotes {
		if strings.HasPrefix(line[start:], q[0]) {
			if n := strings.Index(strings.ReplaceAll(line[start+len(q[0]):], `\`+q[1], strings.Repeat("x", len(q[1])+1)),
				q[1]); n >= 0 {
				return start + len(q[0]), start + len(q[0]) + n, true
			}
			start += len(q[0]) // its end is missing
			break
		}
	}
	v := line[start:]
	if n := strings.IndexFunc(v, func(c rune) bool {
		return unicode.IsSpace(c) ||
			strings.ContainsRune("\"'`", c)
	}); n >= 0 {
		v = v[:n]
	}
	if m := nextField().FindStringIndex(v); m != nil {
		v = v[:m[0]]
	}
	if start > 0 {
		v = strings.TrimRight(v, "*_")
	}
	return start, start + len(strings.TrimRight(v, `.,;:)]}\`)), false
}

var (
	option    = compiled(`(?:^|\s)--?[\w-]*$`) // the beginning of an option that ends with the name
	nextField = compiled(`[&;,][\w.-]+=|</`)
	noValue   = compiled(`(?i)^(?:\$(?:[{(]|[a-z_]+$|[A-Z_]+\b)|[<({\[*•]|%\w*%?$|[:@]\w+$|x{4,}|-|your\b|my\b|\.\.)`)
	noSecret  = compiled(`(?i)^(?:(?:base(?:32|58|64)|sha-?\d+|md5|argon2\w*|pbkdf2|oauth2?|utf-?8|aes-?\d*|ed25519|[rhe]s256|x509|rsa-?\d*|1password)(?:[-_][a-z-]+)?|` +
		`string!?|required!?|optional|hidden|undefined|unknown|default|example|disabled|enabled|missing|invalid|expired|number|object|boolean|redacted|changed)$`)
	anotherName  = compiled(`(?i)^[a-z_.-]*(?:pass|pwd|token|secret|key|wort)[a-z_.-]*$`)
	expression   = compiled(`^[A-Za-z_]+(?:\.[A-Za-z_]+)+$`)
	call         = compiled(`^[A-Za-z_][\w.>:-]*[(\[{]`)
	passwordName = compiled(`(?i)pass|kennwort|pwd|contraseña|пароль`)
)

// isAssigned reports whether a value is a secret, given the name before it and the link between them. In a sentence, an
// ordinary word is none.
func isAssigned(name, link, v string, quoted, option bool) bool {
	isPassword, constant := passwordName().MatchString(name), strings.ToUpper(name) == name
	letters, digits := strings.ContainsFunc(v, unicode.IsLetter), strings.ContainsFunc(v, unicode.IsDigit)
	switch {
	case len(v) < minSecret, noValue().MatchString(v), noSecret().MatchString(v), public().MatchString(v),
		strings.HasPrefix(v, "[secret"):
		return false
	case !quoted && expression().MatchString(v), !quoted && call().MatchString(v):
		return false
	case strings.ContainsFunc(v, unicode.IsSpace):
		return digits && strings.Trim(link, " \t") != "" || isPassword && strings.Count(v, " ") > 2 && v == strings.ToLower(v)
	case !letters && !isPassword:
		return false
	case strings.Trim(link, " \t") == "" && !option: // "password hunter2"
		return isPassword && letters && digits || quoted && unusual(v)
	case unusual(v):
		return true
	}
	sure := quoted || link == "=" || link == ">"
	return sure && (constant || quoted || !anotherName().MatchString(v)) && !strings.EqualFold(v, name)
}

// public matches what is no secret: paths, addresses, e-mail addresses, files, versions, identifiers of Matrix.
var public = compiled(`^(?:(?:~|\.{1,2})?/.*|(?:[a-z0-9_.-]+/)+[a-z0-9_.-]*|[a-z][a-z0-9+.-]*://.*|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}|` +
	`[\w./-]+\.(?:go|py|[jt]sx?|json|ya?ml|toml|md|txt|env|pem|key|pub|crt|sh|sql|log|conf|cfg|ini|xml|html|css|zip|gz|tar|png|jpg|pdf|csv|` +
	`lock|rs|java|[ch]|cpp|rb|php|db|sqlite|service|mod|sum|deb|rpm|iso)|[A-Za-z-]*v?\d+(?:\.\d+)+(?:[-+~][\w.+-]+)?|` +
	`[@!#][\w.=/+-]+:[\w.-]+|\$[\w-]{43})$`)
