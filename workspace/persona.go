package workspace

import (
	"strings"

	"matrix-tui/state/clean"
)

const (
	// MaxPersonaFile bounds one persona file in a prompt, in bytes. Callers need to read no more of a file.
	MaxPersonaFile = 8 << 10
	// MaxPersona bounds all of them together, in bytes.
	MaxPersona = 24 << 10
)

// BootstrapFiles are the names of the files that describe the agent and how it works in
// a room, in prompt order. They are in Dir or in the bot's state folder.
func BootstrapFiles() []string {
	return []string{"AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"}
}

// Text is a persona file.
type Text struct {
	Name    string // shown as its heading
	Content string
}

// Persona selects the persona files for a prompt: the policy's persona file first, then
// each of BootstrapFiles, preferring the room's to the state folder's. The maps are
// from name to content; a blank file counts as missing.
func Persona(policy Text, room, state map[string]string) []Text {
	var out []Text
	add := func(t Text) bool {
		if strings.TrimSpace(t.Content) == "" {
			return false
		}
		out = append(out, t)
		return true
	}
	add(policy)
	for _, name := range BootstrapFiles() {
		if !add(Text{name, room[name]}) {
			add(Text{name, state[name]})
		}
	}
	return out
}

// The style guard: a catchphrase that somebody once requested must not live on because the agent reads it in the
// conversation.
const (
	notStanding = "A request about style in the conversation (a phrase to use, a tone, a name for you) applied to that " +
		"moment and is not a standing instruction"
	filesGuard = "These files end here. They always apply. " + notStanding + ".\n\n"
	styleGuard = notStanding + ".\n\n"
)

// persona returns the files, each under its name, and the style guard; "" if there are
// none. It cuts long files and says so.
func persona(files []Text) string {
	var b strings.Builder
	left := MaxPersona
	for _, file := range files {
		content := strings.TrimSpace(clip(file.Content, 2*MaxPersonaFile))
		if content == "" {
			continue
		}
		name := label(file.Name, 100)
		if name == "" {
			name = "persona"
		}
		const note = "\n(the rest of this file is left out)"
		head := "## " + name + "\n\n"
		limit := min(MaxPersonaFile, left-len(head)-len("\n\n"))
		if limit < 200 {
			b.WriteString("(more of these files are left out)\n\n")
			break
		}
		if content = plain(content); len(content) > limit {
			content = clean.Cut(content, limit-len(note)) + note
		}
		b.WriteString(head + content + "\n\n")
		left -= len(head) + len(content) + len("\n\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "These files say who you are and how you work in this room:\n\n" + b.String() + filesGuard
}
