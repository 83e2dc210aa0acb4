package media

import (
	"encoding/json"
	"mime"
	"strings"

	"maunium.net/go/mautrix/crypto/attachment"

	"matrix-tui/bot/text"
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
	Secret *attachment.EncryptedFile
	// Size in bytes; 0 = unknown.
	Size int64
	// Type is a media type such as image/png, in lower case; "" = unknown.
	Type string
	// Name is the file's name as the sender wrote it; clean it before you show or use it.
	Name string
	// Caption is the text that was sent with it.
	Caption string
}

// Describe reads the content of a message with a file. It accepts any JSON: fields of
// the wrong type count as missing. ok is false for an event without a file.
func Describe(content json.RawMessage, eventType string) (f File, ok bool) {
	fields := object(content)
	if f.Kind, ok = kindOf(fields, eventType); !ok {
		return File{}, false
	}
	f.URL = contentURI(str(fields["url"]))
	if file := object(fields["file"]); file != nil {
		f.URL = ""
		var secret attachment.EncryptedFile
		if json.Unmarshal(fields["file"], &secret) == nil {
			f.URL, f.Secret = contentURI(str(file["url"])), &secret
		}
	}
	info := object(fields["info"])
	f.Size = count(info["size"])
	f.Type = mediaType(str(info["mimetype"]))
	body := str(fields["body"])
	if f.Name = str(fields["filename"]); f.Name == "" {
		f.Name = body
	} else if body != f.Name {
		f.Caption = body
	}
	return f, true
}

// kindOf returns the kind of a file's message.
func kindOf(fields map[string]json.RawMessage, eventType string) (Kind, bool) {
	if eventType == "m.sticker" {
		return Sticker, fields != nil
	}
	if eventType != "m.room.message" {
		return "", false
	}
	switch str(fields["msgtype"]) {
	case "m.image":
		return Image, true
	case "m.file":
		return Plain, true
	case "m.video":
		return Video, true
	case "m.audio":
		if object(fields["org.matrix.msc3245.voice"]) != nil || object(fields["m.voice"]) != nil {
			return Voice, true
		}
		return Audio, true
	}
	return "", false
}

// Placeholder represents the file in a line of text, as in "[Voice Message]".
func (f File) Placeholder() string { return placeholders[f.Kind] }

// FileName is the event's file name in the inbox if its bytes have the given type. A
// name without an extension gets one.
func (f File) FileName(event, contentType string) string {
	name := f.Name
	if clean := CleanName(name); f.Name == "" || clean == "file" {
		name = string(f.Kind)
	} else if name = clean; extension(name) != "" {
		return SafeName(event, name)
	}
	return SafeName(event, shorten(name, maxName/3)+extensions[contentType])
}

// Line describes the file at path in a prompt, such as "[Image] /workspace/inbox/e-cat.png (image/png, 12 kB)".
func (f File) Line(path, contentType string, size int64) string {
	return f.Placeholder() + " " + path + " (" + contentType + ", " + text.Size(size) + ")"
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

// only reports whether s is not empty and consists of ASCII letters, digits and the
// given other characters.
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

// object returns the fields of a JSON object, nil for anything else.
func object(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// str returns a JSON string, "" for anything else.
func str(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// count returns a JSON number as a size, 0 for anything else.
func count(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return int64(n)
}
