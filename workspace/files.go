package workspace

import (
	"fmt"
	"strings"
)

const (
	// MaxFiles is how many of the files that came with a task a prompt names.
	MaxFiles = 50
	// maxFileList is how long their list may be, in bytes.
	maxFileList = 12 << 10
	// VoicePlaceholder stands for what is said in a voice message. Source: seed
	// 002, "Inbound Flow".
	VoicePlaceholder = "[Voice Message]"
)

// File is a file that came with a task.
type File struct {
	Path    string // in the container: InboxPath/NAME
	Type    string // its media type, as it was sniffed; "" = not known
	Name    string // as its sender named it; "" = not at all
	Size    int64  // bytes
	Caption string // what its sender wrote under it; ""
	Voice   bool   // a voice message
	// Missing says why the file is not there; then Path means nothing.
	Missing string
}

// inbox lists the files, one per line; "" if there are none. If the list is too long,
// captions are shortened first.
func inbox(files []File) string {
	if len(files) == 0 {
		return ""
	}
	list := ""
	for _, caption := range []int{1_000, 80, 0} {
		var whole bool
		if list, whole = fileList(files, caption); whole {
			break
		}
	}
	if strings.Contains(list, "- "+VoicePlaceholder) {
		list += "What is said in a voice message was not written down: only the recording has it.\n"
	}
	return "\nThese files came with it:\n" + list
}

// fileList is as many lines as MaxFiles and maxFileList allow, with captions of
// at most that many bytes, and whether no more than MaxFiles left one out.
func fileList(files []File, caption int) (list string, whole bool) {
	var b strings.Builder
	for i, file := range files {
		line := fileLine(file, caption)
		if full := b.Len()+len(line) > maxFileList; full || i == MaxFiles {
			fmt.Fprintf(&b, "(and %d more in %s)\n", len(files)-i, InboxPath)
			return b.String(), !full
		}
		b.WriteString(line)
	}
	return b.String(), true
}

func fileLine(file File, caption int) string {
	line := "- "
	if file.Voice {
		line += VoicePlaceholder + " "
	}
	kind := label(file.Type, 100)
	if kind == "" {
		kind = "type not known"
	}
	name := label(file.Name, 150)
	switch {
	case file.Missing != "":
		line += "(not there"
		if name != "" {
			line += ": " + name
		}
		line += ") " + label(file.Missing, 300)
	case name != "":
		line += label(file.Path, 300) + " (" + kind + ", " + size(file.Size) + "), named " + name
	default:
		line += label(file.Path, 300) + " (" + kind + ", " + size(file.Size) + ")"
	}
	if words := label(file.Caption, caption); words != "" {
		line += ", with the words: " + words
	}
	return line + "\n"
}

// size is a number of bytes as people say it.
func size(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d bytes", max(0, bytes))
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}
