package media

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// sniffed is how many bytes are enough to detect a file's type.
const sniffed = 4096

// magic lists signatures that net/http does not know.
var magic = []struct {
	at          int
	begin, kind string
}{
	{0, "fLaC", "audio/flac"},
	{0, "#!AMR", "audio/amr"},
	{0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{0, "\xfd7zXZ\x00", "application/x-xz"},
	{0, "\x28\xb5\x2f\xfd", "application/zstd"},
	{0, "BZh", "application/x-bzip2"},
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "SQLite format 3\x00", "application/vnd.sqlite3"},
	{4, "ftypM4A", "audio/mp4"},
	{4, "ftypM4B", "audio/mp4"},
	{4, "ftypqt", "video/quicktime"},
	{4, "ftyphei", "image/heic"},
	{4, "ftyphev", "image/heic"},
	{4, "ftypmif1", "image/heif"},
	{4, "ftypavif", "image/avif"},
	{4, "ftyp3g", "video/3gpp"},
	{4, "ftyp", "video/mp4"},
	{257, "ustar", "application/x-tar"},
}

// textual lists text types whose names do not begin with "text/".
var textual = []string{
	"application/json", "application/ld+json", "application/xml", "application/yaml", "application/x-yaml",
	"application/toml", "application/javascript", "application/x-sh", "application/sql", "application/x-ndjson",
	"image/svg+xml",
}

// known lists types with a signature of their own: bytes without it are something else, whatever a message claims.
var known = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff", "image/heic", "image/avif",
	"application/pdf", "application/zip", "application/gzip", "application/x-gzip", "audio/wave", "audio/wav",
	"audio/flac", "audio/ogg", "video/ogg", "video/mp4", "video/webm", "audio/mp4", "audio/webm", "video/quicktime",
}

// Sniff detects the media type of a file from its first bytes (4096 are enough). The claimed type only decides what the
// bytes leave open: which kind of text, what a ZIP contains, whether a container format has only audio.
func Sniff(head []byte, claimed string) string {
	claimed = mediaType(claimed)
	kind := byMagic(head)
	if kind == "" {
		kind = mediaType(http.DetectContentType(head))
	}
	switch kind {
	case "text/plain", "text/xml":
		if isText(claimed) {
			return claimed
		}
	case "application/ogg":
		if claimed == "audio/ogg" || claimed == "video/ogg" {
			return claimed
		}
	case "video/mp4", "video/webm":
		if claimed == strings.Replace(kind, "video", "audio", 1) {
			return claimed
		}
	case "application/zip":
		if strings.HasPrefix(claimed, "application/vnd.") || claimed == "application/epub+zip" ||
			claimed == "application/java-archive" {
			return claimed
		}
	case "application/x-gzip":
		return "application/gzip"
	case "application/octet-stream":
		if claimed != "" && !isText(claimed) && !slices.Contains(known, claimed) {
			return claimed
		}
	}
	return kind
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || slices.Contains(textual, kind)
}

// byMagic detects types by the signatures that net/http does not know.
func byMagic(head []byte) string {
	for _, m := range magic {
		if len(head) > m.at && bytes.HasPrefix(head[m.at:], []byte(m.begin)) {
			return m.kind
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("OggS")):
		first := head[:min(len(head), 512)]
		for _, codec := range []string{"OpusHead", "\x01vorbis", "Speex", "\x7fFLAC"} {
			if bytes.Contains(first, []byte(codec)) {
				return "audio/ogg"
			}
		}
		if bytes.Contains(first, []byte("\x80theora")) {
			return "video/ogg"
		}
	case bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")) && bytes.Contains(head[:min(len(head), 64)],
		[]byte("matroska")):
		return "video/x-matroska"
	case len(head) > 2 && head[0] == 0xff && (head[1] == 0xfb || head[1] == 0xf3 || head[1] == 0xf2):
		return "audio/mpeg"
	case len(head) > 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0:
		return "audio/aac"
	}
	return ""
}

// extensions are for files that came without one.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"image/heic": ".heic", "image/avif": ".avif", "image/tiff": ".tiff", "image/bmp": ".bmp",
	"audio/ogg": ".ogg", "application/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/wave": ".wav",
	"audio/flac": ".flac", "audio/webm": ".webm", "audio/aac": ".aac", "audio/amr": ".amr",
	"video/mp4": ".mp4", "video/webm": ".webm", "video/quicktime": ".mov", "video/x-matroska": ".mkv",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz", "application/x-tar": ".tar",
	"application/json": ".json", "text/plain": ".txt", "text/html": ".html", "text/markdown": ".md", "text/csv": ".csv",
}

// ours maps extensions to types, for text files from a container.
var ours = map[string]string{
	".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".yaml": "application/yaml",
	".yml": "application/yaml", ".toml": "application/toml", ".html": "text/html", ".css": "text/css",
	".svg": "image/svg+xml",
	".js":  "text/javascript", ".xml": "application/xml", ".sh": "application/x-sh", ".sql": "application/sql",
	".py": "text/x-python", ".go": "text/x-go", ".tex": "text/x-tex", ".diff": "text/x-diff", ".patch": "text/x-diff",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet",
	".epub": "application/epub+zip", ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".weba": "audio/webm",
}
