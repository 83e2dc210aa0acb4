package media

import (
	"cmp"
	"mime"
	"strings"

	"matrix-tui/state/event"
)

// Kind is how a file was sent.
type Kind string

// Kinds of files.
const (
	Image   Kind = "image"
	Audio   Kind = "audio"
	Video   Kind = "video"
	Plain   Kind = "file"
	Sticker Kind = "sticker"
	Voice   Kind = "voice" // audio marked by MSC3245
)

// placeholders represent a file in a line of text.
var placeholders = map[Kind]string{
	Image: "[Image]", Audio: "[Audio]", Video: "[Video]", Plain: "[File]",
	Sticker: "[Sticker]", Voice: "[Voice Message]",
}

// File is what a message says about its file. All of it is the sender's claim.
type File struct {
	Kind Kind
	// URL is where the server has the file, mxc://server/id; "" if the message has no valid one.
	URL string
	// Secret is the encryption key; nil = not encrypted.
	Secret *event.EncryptedFile
	// Size in bytes; 0 = unknown.
	Size int64
	// Type is a media type such as image/png, in lower case; "" = unknown.
	Type string
	// Name is the file's name as the sender wrote it; clean it before you show or use it.
	Name string
	// Caption is the text that was sent with it.
	Caption string
}

// Describe gives what a message says about its file; ok is false for a message without one.
func Describe(m event.Message) (f File, ok bool) {
	if m.File == nil {
		return File{}, false
	}
	f = File{
		Kind: kindOf(m), URL: contentURI(m.File.URL), Secret: m.File.Secret, Size: m.File.Size,
		Type: mediaType(m.File.MimeType),
		Name: cmp.Or(m.FileName, m.Body), Caption: m.Caption(),
	}
	if f.Secret != nil && f.Secret.Key.K == "" { // nobody could decrypt it
		f.URL, f.Secret = "", nil
	}
	return f, true
}

// FileOf returns the file in an event, unless that is an edit.
func FileOf(e event.Event) (File, bool) {
	m, ok := e.Message()
	if !ok || m.IsEdit() {
		return File{}, false
	}
	return Describe(m)
}

// kindOf returns the kind of a file's message.
func kindOf(m event.Message) Kind {
	switch m.MsgType {
	case event.TypeSticker:
		return Sticker
	case "m.image":
		return Image
	case "m.video":
		return Video
	case "m.audio":
		if m.File.Voice {
			return Voice
		}
		return Audio
	}
	return Plain
}

// Placeholder represents the file in a line of text, as in "[Voice Message]".
func (f File) Placeholder() string { return placeholders[f.Kind] }

// FileName is the file's name in the inbox, if no other file has it. A name without an
// extension gets one, from the type that the sender claims.
func (f File) FileName() string {
	name := f.Name
	if clean := CleanName(name); f.Name == "" || clean == "file" {
		name = string(f.Kind)
	} else if name = clean; extension(name) != "" {
		return name
	}
	return shorten(name, maxName/3) + extensions[f.Type]
}

// contentURI returns a valid mxc URI unchanged, or "".
func contentURI(uri string) string {
	rest, ok := strings.CutPrefix(uri, "mxc://")
	server, file, both := strings.Cut(rest, "/")
	if !ok || !both || len(uri) > 512 || !only(server, ".:-[]") || !only(file, "-_.~=") || strings.Trim(file, ".") == "" {
		return ""
	}
	return uri
}

// only reports whether s is not empty and consists of ASCII letters, digits and the given other characters.
func only(s, others string) bool {
	for _, r := range s {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r)) {
			return false
		}
	}
	return s != ""
}

// mediaType returns the type without its parameters, "" if it is invalid.
func mediaType(s string) string {
	kind, _, err := mime.ParseMediaType(s)
	major, minor, ok := strings.Cut(kind, "/")
	if err != nil && kind == "" || !ok || len(kind) > 100 || !only(major, "-.+_") || !only(minor, "-.+_") {
		return ""
	}
	return kind
}
