package recall

import (
	"slices"
	"strings"

	"matrix-tui/state/clean"
)

// Kinds of preferences.
const (
	KindPreference = "preference" // how the person wants things to be done
	KindFact       = "fact"       // what the person, their project or their machines are
	KindDecision   = "decision"   // what people agreed on
	KindCorrection = "correction" // what was wrong before; Preferences does not return it, because only Correction tells
)

// Preference is what a person says about their wishes or about facts.
type Preference struct{ Kind, Value string }

const (
	maxPreferences     = 5
	maxPreferenceBytes = 300
)

var rules = []struct {
	kind string
	re   *pattern
}{
	{KindDecision, compiled(`(?i)^(?:(?:we|i)(?:['’]ve| have)?(?: (?:just|now|finally|all))? (?:decided|agreed|settled|chose|chosen|standardi[sz]ed|opted) |` +
		`let['’]?s (?:go with|stick (?:to|with)|settle on|standardi[sz]e on) |we(?:['’]ll| will| are going to| want to)? (?:go|stick) with |(?:the |our )?decision(?::| is ) ?\S|` +
		`(?:wir haben|ich habe) (?:uns |mich |jetzt |gemeinsam ){0,3}(?:entschieden|beschlossen|vereinbart|festgelegt|geeinigt)|` +
		`(?:wir haben uns|ich habe mich) .*(?:entschieden|geeinigt|festgelegt)|wir haben .* (?:beschlossen|vereinbart)|(?:die )?entscheidung(?::| ist ) ?\S|entschieden:? )`)},
	{KindFact, compiled(`(?i)^(?:please |bitte |and |also |und ){0,2}(?:(?:remember|keep in mind|bear in mind|don['’]?t forget|do not forget|note|be aware)(?: also)?(?: that |: *|, (?:that )?)|` +
		`remember (?:the|our|my|we|i|it is|all|this:)\b.* (?:is|are|uses?|runs?|lives?|has|have|must|should) |(?:fyi|nb|for the record|zur info|hinweis)[:,]? |` +
		`(?:merke?|notiere?|schreibe?) (?:dir|dir auf|auf)?[,:]? ?(?:dass |daß |: *)?|(?:denke?|denkt) (?:bitte )?daran[,:]? (?:dass |daß )|beachte?(?: bitte)?[,:] ?(?:dass )?|vergiss nicht[,:]? dass )[^\s:]`)},
	{KindFact, compiled(`(?i)^(?:(?:my|our) (?:[\w-]+ ){0,2}?(?:names?|time ?zone|pronouns|e-?mail(?: address)?|username|handle|birthday|language|editor|shell|operating system|os|` +
		`laptop|company|team|role|job|domain|homeserver|server|city|location|country|(?:working|office) hours|keyboard layout|branch|database|host|ports?|registry|cluster|stack|ci|package manager|repo(?:sitory)?) (?:is|are|runs?|uses?|lives?|listens?) |` +
		`(?:i['’]?m|i am) (?:(?:a|an) (?:[\w+#.-]+ ){0,3}?(?:developer|engineer|designer|admin\w*|manager|student|teacher|scientist|researcher|programmer|beginner|vegetarian|vegan|doctor|lawyer|writer)\b|(?:based|located) in |from |colou?r ?blind)|` +
		`i (?:live in|work (?:at|for|as)|speak|come from) |we(?: (?:only|always|never|all|usually|still|now|currently|mostly))? (?:use|host|target|deploy|develop (?:in|with|on)|write our|run (?:on|in|our)|support only|` +
		`(?:never|always) \w+) |we(?:['’]re| are) using |we (?:always|never) \w+|(?:meine?|unsere?) (?:\pL+ )?(?:name|zeitzone|e-?mail\S*|sprache|muttersprache|editor|shell|firma|team|server|domain|datenbank|stadt|wohnort|rechner|\pL+(?:datenbank|server|zweig|branch)) (?:ist|lautet|heißt|läuft|liegt|hört) |` +
		`ich (?:hei(?:ß|ss)e|wohne in|lebe in|arbeite (?:bei|als|für)|spreche|bin (?:\pL+)?(?:entwickler|ingenieur|student|lehrer|admin|designer)\pL*)(?:[ .]|$)|wir (?:(?:nutzen|verwenden|benutzen|deployen|hosten|entwickeln|testen)|arbeiten mit) )`)},
	{KindPreference, compiled(`(?i)^(?:i (?:(?:strongly|really|generally|usually|much|always|just|would|['’]d) )*prefer |i['’]d (?:much )?(?:prefer|rather) |i (?:really )?(?:hate|dislike|love|like|(?:don['’]?t|do not) like|can['’]?t stand) (?:to )?[^ ]|` +
		`i (?:always|never) want |(?:my|our) (?:preferred|favou?rite) |` +
		`(?:please |kindly |you (?:should|must|can|may|have to|need to) )?(?:always|never) \w+|(?:please )?(?:don['’]?t|do not|stop|no) .*\b(?:ever|any ?more|ever again|in (?:the )?future|any longer)\b|` +
		`(?:please )?(?:don['’]?t ever|do not ever) |from (?:now|here|this point) on\b|going forward\b|henceforth\b|in (?:the )?future,? (?:please|always|never|don['’]?t|do not|only|use|i want|i['’]d) |` +
		`(?:please )?(?:use|answer|reply|respond|write|speak|talk|format|run|keep|make|put|commit|push|deploy|sign|name|send|ask|show|call|treat|only|do|be) .*(?:\balways\b|\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b)|` +
		`(?:please )?call me |(?:please )?address me |ich (?:bevorzuge|mag|hasse|möchte (?:immer|nie)|will (?:immer|nie)|hätte (?:gerne?|lieber)) |mir ist .+ lieber|(?:bitte )?(?:immer|nie|niemals|grundsätzlich|stets) \pL+|` +
		`(?:bitte )?(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|zukünftig|in zukunft)(?:[ ,]|$)|(?:bitte )?(?:antworte|schreibe?|verwende|benutze?|nutze?|nimm|pushe?|sprich|rede|mache?|committe|frage?|formatiere)(?: .*)? (?:immer|nie|niemals|stets|nie wieder|nicht mehr|grundsätzlich|künftig|in zukunft|ab jetzt|ab sofort)(?:[ .!]|$)|` +
		`(?:bitte )?(?:nenne?|nennt) mich |(?:bitte )?keine? .+ mehr(?:[ .!]|$))`)},
}

var (
	// passing matches sentences that begin like a rule, but tell what happened, or hold only now.
	passing = compiled(`(?i)^(?:please )?(?:always|never) (?:mind|seen|saw|heard|tried|been|had|got|a|an|the|on|in|at|knew|thought|again|ever|done|did|[a-z]+[^se]s|[a-z]{2,}[^e]ed|works?|fails?)\b|` +
		`^i (?:really )?(?:hate|dislike|love|like|don['’]?t like|do not like) (?:to )?(?:it|this|that|the|your|how|what|when|where|his|her|their|you)\b|` +
		`^i['’]d (?:rather|prefer) (?:you|not|if|wait|see)\b|^i prefer (?:this|it|that one\b|that[.!]?$|the (?:first|second|third|last|other|old|new|former|latter))\b|` +
		`^merke? dir (?:das|es)[.!]?$|^(?:immer|nie) (?:noch|wieder|mehr|gesehen|gehört|der|die|das|nur|weniger)\b|^(?:please )?call me (?:when|if|back|later|once|at|on|after|before|tomorrow|today|in|as soon|maybe|crazy|again|tonight)\b|` +
		`^(?:please )?(?:remember|note|don['’]?t forget|do not forget)[:,]? to\b|^(?:merke?|denke?) .* zu \pL+en\b|^(?:i|we) agreed? (?:with|that)\b|` +
		`\b(?:this time|for now|just (?:this )?once|right now|this (?:page|file|task|run|pr|branch|function|commit|test|one)|for the moment|today|until then|diesmal|dieses mal|heute|erst ?mal)\b|` +
		`\bdiese[rsnm]? (?:datei|seite|aufgabe|test|branch)\b`)
	reported = compiled(`(?i)\b(?:says?|said|told|tells|asks?|asked|wants?|wanted|thinks?|thought|wrote|claims?|if|when|whenever|unless|once|whether|because|sagt|sagte|meint|meinte|schrieb|will|wenn|falls|ob|weil|sobald)\b|["“„]`)
	clause   = compiled(`(?i)[,;(]\s*|\s[–—-]\s|\s(?:and|but|und|aber)\s`)
	joint    = compiled(`(?i)^(?:(?:and|but|also|so|oh|then|btw|by the way|ps|und|aber|also|übrigens|important|wichtig)[,:]?\s+)+`)
	nextTask = compiled(`(?i)(?:[,;]|\s[–—-])\s*(?:and |but |und |aber )?(?:now|then|please|can you|could you|jetzt|dann|bitte|kannst du)\b.*$`)
	bullet   = compiled(`^\s*(?:[-*•+]|\d+[.)])\s+`)
	speaker  = compiled(`^(?:\[?\d{1,2}:\d{2}\S*\s+)?(?:<[^<>]+>|[@A-Z][\w.-]*:)\s`)
	label    = compiled(`(?i)^(?:remember|note|ps|fyi|btw|nb|decision|rule|task|also|todo|please|important|entscheidung|merke?|hinweis|wichtig|bitte|aufgabe|regel|beachte|entschieden|no|wrong|actually|nein|falsch):`)
)

// Preferences returns what a person says in their own message about their own wishes and about facts that are worth
// keeping, at most 5. It leaves out questions, quotations, code, what others say, and what is wanted only once.
func Preferences(message string) []Preference {
	var found []Preference
	for _, line := range own(message) {
		if speaker.MatchString(line) && !label.MatchString(line) {
			continue // a chat that was pasted
		}
		for _, s := range sentences(line) {
			p, ok := preferenceIn(s)
			if ok && !slices.Contains(found, p) && !Instructs(s) {
				found = append(found, p)
			}
			if len(found) == maxPreferences {
				return found
			}
		}
	}
	return found
}

// preferenceIn finds a preference in a sentence: the whole sentence, or the rest of it after a task.
func preferenceIn(s string) (Preference, bool) {
	if strings.HasSuffix(strings.TrimRight(s, `"”)*_`), "?") {
		return Preference{}, false
	}
	starts := append([][]int{{0, 0}}, clause.FindAllStringIndex(s, 20)...)
	for _, at := range starts {
		if reported.MatchString(s[:at[0]]) {
			break
		}
		rest := s[at[1]:]
		rest = rest[len(joint.FindString(rest)):]
		for _, r := range rules {
			noted := len(rest) >= 4 && strings.EqualFold(rest[:4], "note")
			if !r.re.MatchString(rest) || passing.MatchString(rest) || at[0] > 0 && noted {
				continue
			}
			if cut := nextTask.FindStringIndex(rest); cut != nil && r.re.MatchString(rest[:cut[0]]+" ") {
				rest = rest[:cut[0]]
			}
			return Preference{r.kind, cutWords(rest, maxPreferenceBytes)}, true
		}
	}
	return Preference{}, false
}

// own returns the lines of a message that its author wrote as text: no quotations and no code.
func own(message string) []string {
	var lines []string
	fence := ""
	for line := range strings.SplitSeq(clean.Clip(clean.Text(message), 64<<10), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) {
				fence = ""
			}
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = line[:3]
		case strings.HasPrefix(line, ">"), len(line) > 1 && strings.HasPrefix(line, "`") && strings.Count(line, "`") == 2 && strings.HasSuffix(line, "`"):
		default:
			if line = bullet.ReplaceAllString(line, ""); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// cutWords returns a text on one line of at most max bytes, cut between words.
func cutWords(s string, max int) string {
	if s = clean.Line(s, 0); len(s) <= max {
		return s
	}
	s = clean.Clip(s, max-len("…"))
	if i := strings.LastIndexByte(s, ' '); i > max/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:") + "…"
}
