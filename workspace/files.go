package workspace

import (
	"fmt"
	"path"
	"strings"
)

const (
	// MaxFiles is the maximum number of a task's files that a prompt names.
	MaxFiles = 50
	// maxFileList bounds the list of them, in bytes.
	maxFileList = 12 << 10
	// VoicePlaceholder represents the content of a voice message.
	VoicePlaceholder = "[Voice Message]"
)

// File is a file that came with a task.
type File struct {
	Path    string // in the container: InboxPath/NAME
	Type    string // detected media type; "" = unknown
	Name    string // the name that the sender gave it; "" = none
	Size    int64  // bytes
	Caption string // the sender's caption, or ""
	Voice   bool   // a voice message
	// Missing says why the file does not exist in the container; Path is then unused.
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
		list += "Voice messages are not transcribed: their content is only in the recording.\n"
	}
	return "\nThese files came with it:\n" + list
}

// fileList returns as many lines as MaxFiles and maxFileList allow, with captions of at most that many bytes. It also
// reports whether only MaxFiles left files out.
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
		kind = "unknown type"
	}
	name := label(file.Name, 150)
	switch {
	case file.Missing != "":
		line += "(not there"
		if name != "" {
			line += ": " + name
		}
		line += ") " + label(file.Missing, 300)
	case name != "" && name != path.Base(file.Path):
		line += label(file.Path, 300) + " (" + kind + ", " + size(file.Size) + "), named " + name
	default:
		line += label(file.Path, 300) + " (" + kind + ", " + size(file.Size) + ")"
	}
	if words := label(file.Caption, caption); words != "" {
		line += ", with the caption: " + words
	}
	return line + "\n"
}

// size writes a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d bytes", max(0, bytes))
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}
