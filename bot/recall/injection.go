package recall

import (
	"strings"
	"unicode"

	"matrix-tui/state/clean"
)

const earlier = `(?:previous|prior|preceding|earlier|above|foregoing|original|initial|existing|system|safety|developer|your|all your|my earlier)`

// planted are texts that give instructions to a model. They are matched against what plainText returns.
var planted = compiled(`<\|? ?(?:im start|im end|system|endoftext|start header id|eot id)\b|\[/?inst\]|<<sys>>|</?system>|\[/?system\]|### ?instructions?\b(?: ?:|$| )|` +
	`\b(?:ignore|disregard|forget|override|bypass|discard|neglect|do not follow|don't follow|stop following|do not obey|pay no attention to)` +
	`(?: (?:all|any|of|the|these|those|each|every|absolutely|completely|and))* (?:` +
	`(?:` + earlier + `(?: \w+){0,2} )+(?:instruction|prompt|rule|direction|directive|guideline|command|order|guardrail|constraint|context|training|programming)s?\b|` +
	`(?:instructions?|prompts?|rules|directives|guidelines|text|everything|anything|all|that)(?: that)? (?:above|before this|you were (?:given|told)|you have been (?:given|told)|you received|you know)\b|` +
	`above(?: ?[.!:;]| and\b|$)|everything (?:i|we|they) (?:told|said to) you\b|what you (?:were|have been) told\b)|` +
	`\byou are now (?:a|an|my|free|no longer|dan|root|admin|unrestricted|acting|called|named|operating as|jailbroken|in \w+ mode)\b|` +
	`\b(?:your|this is (?:the|a)|here (?:is|are) (?:the|your|a)) new (?:system )?(?:prompt|instructions?)\b|(?:^|[.!?:;>-] ?)new system prompt\b|` +
	`\bnew (?:system )?(?:prompt|instructions?) ?:|\bsystem ?prompt ?:|\bbegin (?:new )?(?:system|admin|developer) (?:message|prompt|instructions?)\b|` +
	`\bsystem (?:message|instruction|override|notice) ?[:\]]|\bremember (?:from now on|always|forever|permanently) that you\b|\bfrom now on remember that you must\b|` +
	`\b(?:store|save|write|add|put|keep|commit) (?:this|that|it|the following)(?: \w+){0,3}? (?:in|into|to) (?:your (?:long-term |permanent )?memory|long-term memory|` +
	`(?:the )?(?:file )?(?:\S*/)?(?:memory|gemini|claude|agents)\.md)\b|\bmemori[sz]e (?:this|the following)\b|` +
	`\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning|mention (?:this|it|that) to|mentioning (?:this|it) to|reveal (?:this|it|that) to) ` +
	`(?:the |your |any )?(?:user|users|human|person|operator|owner|requester)\b|\b(?:hide|conceal|keep) (?:this|it|that)(?: \w+)? from the (?:user|human|operator|owner)\b|` +
	`\bas an? (?:ai|artificial intelligence|llm|language model)(?: \w+){0,2} you (?:must|should|have to|are required|will|shall)\b|` +
	`\bif you are an? (?:ai|llm|language model|artificial)\b|\b(?:note|attention|message|instructions?) (?:to|for) (?:the |any |all )?(?:ai|llm)s?(?: \w+)? ?:|` +
	`\b(?:reveal|repeat|print|show|output) (?:me )?(?:your|the) (?:system prompt|(?:initial|hidden|secret) (?:prompt|instructions))\b|\bdo anything now\b|\bjailbreak mode\b|` +
	`\byour (?:real|true|actual|new) (?:task|instructions|purpose|goal|mission) (?:is|are)\b`)

// foreign are such texts in German, French, Spanish and Russian. Word boundaries of the package regexp know ASCII only.
var foreign = compiled(`(?:^|[^\pL])(?:` +
	`(?:ignorier\pL*|missachte\pL*|vergiss|vergesst|vergessen sie)(?: sie)?(?: (?:alle?|sämtliche|die|deine|ihre|eure|bitte))* (?:bisherigen?|vorherigen?|vorigen?|vorangegangenen?|obigen?|früheren?|vorstehenden?) ` +
	`(?:anweisung|instruktion|befehl|regel|vorgabe|prompt|anordnung)\pL*|ignoriere? (?:alle )?(?:deine|ihre) (?:anweisung|instruktion|befehl|regel|vorgabe)\pL*|` +
	`(?:vergiss|vergesst|vergessen sie|ignoriere?) alles,? was (?:du|dir|man dir|ihnen|ich dir|vorher|oben|davor)|du bist (?:jetzt|nun|ab jetzt|ab sofort|von nun an) (?:ein|eine|der|die|kein|keine|mein|frei)(?:[^\pL]|$)|` +
	`neuer system-?prompt|sage? (?:es |das |dies )?de[mn] (?:benutzer|nutzer|anwender)n? (?:nicht|nichts)|(?:speichere?|schreibe?) (?:das|dies|es) in (?:dein|ihr) (?:gedächtnis|memory)|in deinem gedächtnis|` +
	`(?:ignore[zr]?|oublie[zr]?|ne tiens pas compte d|ne tenez pas compte d)(?: pas)?(?: (?:toutes|tous|de|des|les|tes|vos|ces))* (?:instructions?|consignes?|règles|directives|ordres)(?: \pL+)? (?:précédent|antérieur|ci-dessus|qui précèdent|initial|reçu)\pL*|` +
	`ignore[zr]? (?:toutes )?(?:tes|vos) (?:instructions|consignes|règles)|oublie[zr]? tout ce (?:que|qui)|(?:tu es|vous êtes) (?:maintenant|désormais) (?:un|une|le|la|mon|libre)(?:[^\pL]|$)|nouveau prompt système|` +
	`ne (?:le )?(?:dis|dites) (?:rien |pas )*à l'utilisateur|` +
	`(?:ignora|ignore|ignorad|olvida|olvide|omite|desestima)(?: (?:todas|todos|las|los|tus|sus|estas))* (?:instrucciones|órdenes|indicaciones|reglas|directrices)(?: \pL+)? (?:anterior|previa|de arriba|precedente|inicial|recibida)\pL*|` +
	`(?:ignora|olvida) (?:todas )?tus (?:instrucciones|reglas)|olvida todo lo (?:que|anterior)|ahora eres (?:un|una|el|la|mi|libre)(?:[^\pL]|$)|nuevo prompt del sistema|no (?:se )?l[eo] digas (?:nada )?al usuario|` +
	`(?:игнорируй|проигнорируй|забудь|не обращай внимания на|отбрось|не следуй)(?:те)?(?: (?:все|всем|эти|свои|твои|любые))* (?:предыдущ|прошл|прежн|вышеуказанн|вышеизложенн|ранн|первоначальн|системн|сво)\pL*(?: \pL+)? ?(?:инструкци|указани|правил|команд|промпт|распоряжени)\pL*|` +
	`(?:забудь|игнорируй)(?:те)? вс[её],? что|(?:теперь ты|ты теперь|отныне ты)(?: -| —)? \pL+|нов\pL+ системн\pL+ (?:промпт|запрос|инструкц)\pL*|системный промпт ?:|не (?:говори|сообщай|рассказывай)(?:те)? (?:об этом )?пользовател\pL+)`)

// chinese is matched without white space.
var chinese = compiled(`(?:忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|不要理会|不要遵守|不要遵循)(?:掉|你|所有|全部|一切|任何|的|在)*(?:之前|以前|先前|此前|上面|上述|以上|前面|前述|系统|系統|原来|原有|收到)\pL{0,8}(?:指令|指示|命令|说明|說明|提示|规则|規則|要求|内容|內容)|` +
	`(?:忽略|无视|忘记|忘掉)你的(?:所有)?(?:指令|规则|提示)|你现在是|你現在是|从现在(?:开始|起)你是|新的?系[统統]提示|系[统統]提示[词詞]?[:：]|(?:不要|别|別)(?:告诉|告訴)用[户戶]`)

// Instructs reports whether a text looks as if somebody planted it to give instructions to a model. It also reports
// some text that is only about such instructions.
func Instructs(text string) bool {
	text = plainText(text)
	return planted().MatchString(text) || foreign().MatchString(text) ||
		chinese().MatchString(strings.ReplaceAll(text, " ", ""))
}

var tag = compiled(`</?(?:b|i|u|em|strong|span|p|br|div|code|del|a|font)(?: [^<>]*)?/?>`)

// plainText returns a text in lower case on one line, without what can hide words: invisible characters, emphasis,
// commas and quotation marks.
func plainText(text string) string {
	text = clean.Rules{Invisible: true}.Text(text)
	text = strings.Map(func(c rune) rune {
		switch {
		case c >= '！' && c <= '～': // full width
			c -= '！' - '!'
		case c == '’', c == '‘':
			c = '\''
		}
		switch c {
		case '*', '`', '~', ',', '"', '“', '”', '„', '«', '»':
			return -1
		case '_':
			return ' '
		}
		return unicode.ToLower(c)
	}, text)
	return strings.Join(strings.Fields(tag().ReplaceAllString(text, "")), " ")
}
