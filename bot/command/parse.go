package command

import (
	"slices"
	"strings"
	"unicode"

	"matrix-tui/bot/text"
	"matrix-tui/bot/update"
	"matrix-tui/state/event"
)

// Parse splits a message into a command and its argument. ok is false for ordinary text, which includes unknown !words.
func Parse(said string) (c Command, rest string, ok bool) {
	word, rest, ok := split(said)
	i := slices.IndexFunc(all, func(c Command) bool { return ok && strings.EqualFold(c.Name, word) })
	if i < 0 {
		return c, "", false
	}
	return all[i], rest, true
}

// split returns the word after a leading ! and the rest of the message.
func split(said string) (word, rest string, ok bool) {
	word, ok = strings.CutPrefix(strings.TrimFunc(said, event.IsBlank), "!")
	if end := strings.IndexFunc(word, event.IsBlank); end >= 0 {
		word, rest = word[:end], strings.TrimSpace(strings.TrimLeftFunc(word[end:], event.IsBlank))
	}
	return word, rest, ok && word != ""
}

// HasForm reports whether a message has the form of a command, of anybody's.
func HasForm(said string) bool {
	_, _, ok := split(said)
	return ok
}

// IsMeant reports whether a message is to be handled as a command: it is one with a function, or a misspelt or unknown
// one, or it asks for an update in plain words. A known command that is not meant starts a task.
func IsMeant(said string) bool {
	c, rest, known := Parse(said)
	return known && (!c.IsTask() || rest == "") || IsUnknown(said) || update.Wanted(said)
}

// IsUnknown reports whether a message is meant as a command but is none.
func IsUnknown(said string) bool { return misspelt(said) != "" || foreign(said) != "" }

// IsForeign reports whether a message may be a command of another bot.
func IsForeign(said string) bool { return foreign(said) != "" }

// WithoutTask returns a text without a leading "!task".
func WithoutTask(said string) string {
	if c, rest, ok := Parse(said); ok && c.IsTask() {
		return rest
	}
	return said
}

// WithoutAnswer returns an answer without a leading "!answer".
func WithoutAnswer(said string) string {
	if c, rest, ok := Parse(said); ok && c.Name == "answer" {
		said = rest
	}
	return strings.TrimSpace(said)
}

// stopWords are what people write, alone in a message, to stop a task that is running.
var stopWords = strings.Fields("stop cancel halt abort stopp abbrechen annuler arrête arrete cancelar para detener " +
	"ferma annulla стоп отмена 停止 取消")

// IsStop reports whether a message is nothing but a word that stops a task.
func IsStop(said string) bool {
	beside := func(c rune) bool { return event.IsBlank(c) || unicode.IsPunct(c) }
	return slices.Contains(stopWords, strings.ToLower(strings.TrimFunc(said, beside)))
}

// misspelt returns the command that an unknown !word most likely means, or "".
func misspelt(said string) string {
	word, _, ok := split(said)
	if _, _, known := Parse(said); !ok || known {
		return ""
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return text.Nearest(strings.ToLower(word), names)
}

// foreign returns the word of a message that looks like a command but is none, and that is not like one of ours:
// letters directly after the !. Anything else, such as "!!!", "! important" or "!important: …", is ordinary text.
func foreign(said string) string {
	word, _, ok := split(said)
	notInName := func(c rune) bool { return !unicode.IsLetter(c) && c != '_' && c != '-' }
	if _, _, known := Parse(said); !ok || known || strings.ContainsFunc(word, notInName) || misspelt(said) != "" {
		return ""
	}
	return word
}

// Unknown returns what the room is told about an unknown command. Nothing is done, and no tokens are spent.
func Unknown(said string) string {
	if word := foreign(said); word != "" {
		return text.Code("!"+word) + " is not one of my commands: `!help` lists them. " +
			"If it is a task, send it without the `!`, or with `!task` before it."
	}
	return "Did you mean `!" + misspelt(said) + "`? If it is a task, send it without the `!`."
}
