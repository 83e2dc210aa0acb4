package media

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state/event"
)

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const anEvent = "$Woq2vwLy8mNukf7e8oz61GxT5gpMmr_asdo-rzeYbg8"

func TestCleanName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"cat.png", "cat.png"},
		{"my cat (1).png", "my_cat_1_.png"},
		{"../../etc/passwd", "passwd"},
		{`C:\windows\system.ini`, "system.ini"},
		{"", "file"},
		{"...", "file"},
		{".bashrc", "bashrc"},
		{"-rf", "rf"},
		{"--..--__x", "x"},
		{"a\nb\x00c\td", "a_b_c_d"},
		{"a\u202egnp.exe", "agnp.exe"},
		{"Отчёт.pdf", "Отчёт.pdf"},
		{"e\u0301te\u0301.txt", "été.txt"},
		{"हिन्दी.txt", "हिन्दी.txt"},
		{"ｆｕｌｌ／ｗｉｄｔｈ．ｔｘｔ", "full_width.txt"},
		{"a\u2024\u2024/b", "b"},
		{"\u0301\u0301x", "x"},
		{"bad\xff\xfename", "bad_name"},
		{"@file ~$(rm)`;|&.sh", "file_rm_.sh"},
		{strings.Repeat("a", 300) + ".tar", strings.Repeat("a", 116) + ".tar"},
		{strings.Repeat("é", 300) + ".jpg", strings.Repeat("é", 58) + ".jpg"},
		{"x." + strings.Repeat("e", 300), "x." + strings.Repeat("e", 118)},
	} {
		if got := CleanName(c.name); got != c.want {
			t.Errorf("CleanName(%q)\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A file gets another name only if the one it has is another file's.
func TestDistinct(t *testing.T) {
	long := strings.Repeat("é", 56) + ".tar.gz"
	for name, want := range map[string]string{
		"photo.png": "photo-090cc062.png", "Makefile": "Makefile-090cc062", long: "x",
	} {
		got := distinct(name, anEvent)
		if want == "x" {
			want = got
		}
		if got != want || len(got) > maxName || !strings.HasSuffix(got, extension(name)) || got != CleanName(got) {
			t.Errorf("distinct(%q) = %q, want %q", name, got, want)
		}
	}
	if distinct("a", "$1") == distinct("a", "$2") {
		t.Error("files of two events share a name")
	}
}

func FuzzCleanName(f *testing.F) {
	for _, name := range []string{"", "..", "a/b", "x.tar.gz", "\u202e", strings.Repeat("\ufdfa", 300), "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := CleanName(name)
		if got == "" || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got[:1], ".-") {
			t.Errorf("CleanName(%q) = %q", name, got)
		}
		for _, r := range got {
			if r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) {
				t.Errorf("CleanName(%q) = %q has %U", name, got, r)
			}
		}
		if strings.Contains(got, "..") || CleanName(name) != got {
			t.Errorf("CleanName(%q) = %q", name, got)
		}
	})
}

func TestDescribe(t *testing.T) {
	secret := &event.EncryptedFile{Key: event.JWK{K: "k", Alg: "A256CTR", Ext: true, Kty: "oct", KeyOps: []string{"decrypt"}}, IV: "i", SHA256: "h", Version: "v2"}
	for _, c := range []struct {
		kind, content string
		want          File
		ok            bool
	}{
		{"m.room.message", `{"msgtype":"m.image","body":"cat.png","url":"mxc://a.b:8448/Ab-_1","info":{"size":12,"mimetype":"Image/PNG; x=y"}}`,
			File{Kind: Image, URL: "mxc://a.b:8448/Ab-_1", Size: 12, Type: "image/png", Name: "cat.png"}, true},
		{"m.room.message", `{"msgtype":"m.file","body":"look at this","filename":"a.pdf","url":"mxc://a/b"}`,
			File{Kind: Plain, URL: "mxc://a/b", Name: "a.pdf", Caption: "look at this"}, true},
		{"m.room.message", `{"msgtype":"m.file","body":"a.pdf","filename":"a.pdf","url":"mxc://a/b"}`,
			File{Kind: Plain, URL: "mxc://a/b", Name: "a.pdf"}, true},
		{"m.room.message", `{"msgtype":"m.video","body":"v","file":{"url":"mxc://a/b","v":"v2","iv":"i","hashes":{"sha256":"h"},"key":{"k":"k","alg":"A256CTR","ext":true,"kty":"oct","key_ops":["decrypt"]}},"url":"mxc://a/plain"}`,
			File{Kind: Video, URL: "mxc://a/b", Secret: secret, Name: "v"}, true},
		{"m.room.message", `{"msgtype":"m.audio","body":"v","url":"mxc://a/b","org.matrix.msc3245.voice":{}}`, File{Kind: Voice, URL: "mxc://a/b", Name: "v"}, true},
		{"m.room.message", `{"msgtype":"m.audio","body":"v","url":"mxc://a/b","org.matrix.msc3245.voice":7}`, File{Kind: Audio, URL: "mxc://a/b", Name: "v"}, true},
		{"m.sticker", `{"body":"a waving cat","url":"mxc://a/b","info":{"mimetype":"image/webp"}}`, File{Kind: Sticker, URL: "mxc://a/b", Type: "image/webp", Name: "a waving cat"}, true},
		{"m.room.message", `{"msgtype":"m.image","body":7,"url":["mxc://a/b"],"info":{"size":"12","mimetype":{}},"filename":null}`, File{Kind: Image}, true},
		{"m.room.message", `{"msgtype":"m.image","file":{"url":"mxc://a/b","key":7},"url":"mxc://a/plain"}`, File{Kind: Image}, true},
		{"m.room.message", `{"msgtype":"m.image","url":"mxc://a/../../_synapse/admin","info":{"size":-1}}`, File{Kind: Image}, true},
		{"m.room.message", `{"msgtype":"m.image","url":"mxc://a/..","info":{"size":1e300}}`, File{Kind: Image}, true},
		{"m.room.message", `{"msgtype":"m.image","url":"https://a/b"}`, File{Kind: Image}, true},
		{"m.room.message", `{"msgtype":"m.text","body":"x","url":"mxc://a/b"}`, File{}, false},
		{"m.room.message", `{"msgtype":7}`, File{}, false},
		{"m.room.message", `[]`, File{}, false},
		{"m.room.message", ``, File{}, false},
		{"m.sticker", `null`, File{}, false},
		{"m.reaction", `{"msgtype":"m.image","url":"mxc://a/b"}`, File{}, false},
	} {
		got, ok := Describe(said(json.RawMessage(c.content), c.kind))
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("Describe(%s) is %v (-want +got):\n%s", c.content, ok, diff)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add([]byte(`{"msgtype":"m.image","body":"a","url":"mxc://a/b","info":{"size":1,"mimetype":"a/b"},"file":{"url":"mxc://a/b"}}`), "m.room.message")
	f.Add([]byte(`{"file":{"key":{"key_ops":{}}}}`), "m.sticker")
	f.Fuzz(func(t *testing.T, content []byte, kind string) {
		file, ok := Describe(said(content, kind))
		if ok != (file.Placeholder() != "") || file.Size < 0 {
			t.Errorf("Describe(%q) = %+v, %v", content, file, ok)
		}
		if name := file.FileName(); len(name) > maxName || name != CleanName(name) {
			t.Errorf("FileName of %q is %q", content, name)
		}
	})
}

func TestFileName(t *testing.T) {
	for _, c := range []struct {
		file File
		want string
	}{
		{File{Kind: Image, Type: "image/png", Name: "a.jpeg"}, "a.jpeg"},
		{File{Kind: Sticker, Type: "image/webp", Name: "a waving cat"}, "a_waving_cat.webp"},
		{File{Kind: Voice, Type: "audio/ogg"}, "voice.ogg"},
		{File{Kind: Plain, Type: "application/x-odd", Name: "///"}, "file"},
		{File{Kind: Sticker, Type: "image/png", Name: strings.Repeat("long ", 99)}, "long_long_long_long_long_long_long_long.png"},
	} {
		if got := c.file.FileName(); got != c.want {
			t.Errorf("file %+v is called %q, want %q", c.file, got, c.want)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, c := range []struct{ head, claimed, want string }{
		{"\x89PNG\r\n\x1a\nrest", "image/jpeg", "image/png"},
		{"\xff\xd8\xff\xe0", "", "image/jpeg"},
		{"RIFF....WEBPVP8 ", "", "image/webp"},
		{"plain words", "", "text/plain"},
		{"plain words", "text/markdown", "text/markdown"},
		{"plain words", "image/png", "text/plain"},
		{"plain words", "application/json; charset=utf-8", "application/json"},
		{"<html><script>", "image/png", "text/html"},
		{"<svg xmlns=", "image/svg+xml", "image/svg+xml"},
		{"\x00\x01\x02", "image/png", "application/octet-stream"},
		{"\x00\x01\x02", "application/x-thing", "application/x-thing"},
		{"\x00\x01\x02", "text/plain", "application/octet-stream"},
		{"\x00\x01\x02", "no type\n", "application/octet-stream"},
		{"PK\x03\x04", "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"},
		{"PK\x03\x04", "image/png", "application/zip"},
		{"\x1f\x8b\x08", "", "application/gzip"},
		{"%PDF-1.7", "text/plain", "application/pdf"},
		{"OggS\x00\x02............................OpusHead", "", "audio/ogg"},
		{"\x00\x00\x00\x20ftypM4A ", "", "audio/mp4"},
		{"\x00\x00\x00\x20ftypisom", "audio/mp4", "audio/mp4"},
		{"\x00\x00\x00\x20ftypisom", "", "video/mp4"},
		{"\x1a\x45\xdf\xa3", "audio/webm", "audio/webm"},
		{"ID3\x04", "", "audio/mpeg"},
		{"\xff\xfb\x90", "", "audio/mpeg"},
		{"fLaC", "", "audio/flac"},
		{"", "image/png", "text/plain"},
	} {
		if got := Sniff([]byte(c.head), c.claimed); got != c.want {
			t.Errorf("Sniff(%q, %q) = %q, want %q", c.head, c.claimed, got, c.want)
		}
	}
}

// said is the message of an event with this content; one that is rejected says
// nothing.
func said(content json.RawMessage, eventType string) event.Message {
	frame := append([]byte(`{"event_id":"$1","type":"`+eventType+`","sender":"@ann:x","content":`), content...)
	e, err := decode.FromServer(append(frame, '}'))
	if err != nil || e.Body.Message == nil {
		return event.Message{}
	}
	return *e.Body.Message
}
