package recall

import (
	"context"
	"strings"
	"unicode"

	"matrix-tui/state/memory"
)

const maxCorrectionBytes = 200

var (
	notThis  = compiled(`(?i)^(?:not|nicht|pas) (?:the |in |on |die |der |das |den )?([^,;:–—]{1,60}?)(?:,? (?:but|sondern|mais|sino) |[,;:]\s*| [–—-] )(?:but |sondern |mais |sino )?(.+)$`)
	refuses  = compiled(`(?i)^(?:(?:no|nope|nah|nein|nee|nö|non|wrong|incorrect|falsch|that['’]?s (?:wrong|not right|incorrect)|that is (?:wrong|not right|incorrect)|das ist falsch|das stimmt nicht|stimmt nicht|not (?:quite|right))(?:\s*[,.:;!–—]+\s*|\s+-+\s*| (use |it['’]?s |it is |i meant |es ist )))`)
	wrongOne = compiled(`(?i)^(?:wrong|falsche[rs]?) [\w-]+[,:;]\s*(.+)$`)
	meant    = compiled(`(?i)^(?:sorry,? |oh,? |well,? )?(?:i (?:actually )?(?:meant|said|asked for)|i mean,?|(?:ich )?meinte(?: ich)?|ich meine|gemeint (?:war|ist)|je voulais dire|quería decir) (.+)$`)
	actually = compiled(`(?i)^(?:actually|eigentlich|tatsächlich)(?:,\s*|\s+(use |it['’]?s |it is |the |that['’]?s |i meant |es ist ))`)
	instead  = compiled(`(?i)^((?:it['’]?s|it is|that['’]?s|use|take|es ist|nimm|nutze) [^,]{2,60}),? (?:not|nicht) .+$|^(?:please )?(use .{2,60} instead)[.!]?$`)
	polite   = compiled(`(?i)^(?:no\b|thanks?\b|thank|thx|ty\b|problem|worries|idea|need|way|clue|more\b|never ?mind|go on|carry on|keep going|continue|wait|later|sorry|stop|cancel|leave it|forget|nothing|please$|please don|` +
		`i (?:don['’]?t|do not|can['’]?t|cannot|am not|have no|think so|will|would|['’]ll)|i['’]?m (?:fine|good|not)|don['’]?t(?: do (?:it|that|this))?[.!]?$|do not(?: do (?:it|that|this))?[.!]?$|don['’]?t (?:worry|bother)|(?:that['’]?s|that is|it['’]?s|it is|all|everything is|this is|looks|sounds|works) (?:fine|ok|okay|all|good|great|right|it|correct|perfect|enough|not|wrong|done)\b|` +
		`i (?:like|love)|good|great|yet|now|sure|really|exactly|today|bad|at all|danke|kein|passt|schon gut|alles (?:gut|klar)|lass|moment|warte|später|gar nicht|weiter|das (?:passt|ist (?:gut|ok|okay|richtig|alles))|merci|gracias|why|what|how|who|warum|was\b)`)
)

// Correction returns what a message puts right, if it corrects what the bot just did or assumed: "staging" of "no,
// staging".
func Correction(message string) (value string, ok bool) {
	lines := own(message)
	if len(lines) == 0 {
		return "", false
	}
	s := sentences(lines[0])
	text := s[0]
	for len(s) > 1 && onlyVerdict.MatchString(strings.TrimSpace(words(text))) || len(s) > 1 && refuses.MatchString(text+" ") && strings.Count(text, " ") < 2 {
		text, s = text+" "+s[1], s[1:] // "No. Use staging."
	}
	for range 3 { // "no, not production, staging"
		if strings.HasSuffix(text, "?") || ok && polite.MatchString(text) {
			return "", false
		}
		next := ""
		switch m := []string(nil); {
		case refuses.MatchString(text):
			next = afterWord(text, refuses)
		case actually.MatchString(text):
			next = afterWord(text, actually)
		default:
			for _, re := range []*pattern{notThis, wrongOne, meant, instead} {
				if m = re.FindStringSubmatch(text); m != nil && !(re == notThis && polite.MatchString(m[1])) {
					next = strings.Join(m[max(1, len(m)-2):], "")
					if re == notThis {
						next = m[2]
					}
					break
				}
			}
		}
		if next == "" {
			break
		}
		text, ok = next, true
	}
	value = strings.TrimRight(cutWords(text, maxCorrectionBytes), " .,;:!")
	if !ok || !strings.ContainsFunc(value, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) ||
		polite.MatchString(value) || onlyVerdict.MatchString(strings.TrimSpace(words(value))) || Instructs(value) {
		return "", false
	}
	return value, true
}

// correct adds the answer with which a person has just corrected another one, and returns that one's ID, or "".
func (m *Memory) correct(ctx context.Context, x *memory.Index, t Task, l *learned) (wrong string, err error) {
	if l.correction == "" {
		return "", nil
	}
	hits, err := x.Newest(ctx, 20, memory.SourceAnswer)
	if err != nil {
		return "", err
	}
	for _, hit := range hits {
		question, answer, ok := parseAnswer(hit.Text)
		if !ok || !sharesWord(question, l.correction) {
			continue
		}
		if sharesWord(answer, l.correction) { // done before a crash, or right already
			return "", nil
		}
		about := t
		about.ID += "/correction"
		if t.Before != "" {
			about.Said = []Said{{Event: t.Event, By: t.By, Text: t.Before}}
		}
		about.Answers = []Answer{{Question: question, Answer: l.correction, By: t.By, Event: t.Event}}
		more := m.filter.observe(about)
		l.docs, l.lines = append(l.docs, more.answers...), append(l.lines, more.answerLines...)
		return hit.ID, nil
	}
	return "", nil
}

// afterWord returns what follows the first words of a text. The group of the expression belongs to the rest.
func afterWord(s string, re *pattern) string {
	m := re.FindStringSubmatchIndex(s)
	if m[2] >= 0 {
		return s[m[2]:]
	}
	return s[m[1]:]
}

// sharesWord reports whether two texts have a word of more than two letters in common.
func sharesWord(a, b string) bool {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(a), notInWord) {
		words[word] = len(word) > 2
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(b), notInWord) {
		if words[word] && !common[word] {
			return true
		}
	}
	return false
}
