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
	"github.com/google/go-cmp/cmp/cmpopts"
	"maunium.net/go/mautrix/crypto/attachment"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state/event"
)

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const anEvent = "$Woq2vwLy8mNukf7e8oz61GxT5gpMmr_asdo-rzeYbg8"

func TestSafeName(t *testing.T) {
	id := anEvent[1:]
	for _, c := range []struct{ event, name, want string }{
		{anEvent, "cat.png", id + "-cat.png"},
		{anEvent, "my cat (1).png", id + "-my_cat_1_.png"},
		{anEvent, "../../etc/passwd", id + "-passwd"},
		{anEvent, `C:\windows\system.ini`, id + "-system.ini"},
		{anEvent, "", id + "-file"},
		{anEvent, "...", id + "-file"},
		{anEvent, ".bashrc", id + "-bashrc"},
		{anEvent, "-rf", id + "-rf"},
		{anEvent, "--..--__x", id + "-x"},
		{anEvent, "a\nb\x00c\td", id + "-a_b_c_d"},
		{anEvent, "a\u202egnp.exe", id + "-agnp.exe"},
		{anEvent, "Отчёт.pdf", id + "-Отчёт.pdf"},
		{anEvent, "e\u0301te\u0301.txt", id + "-été.txt"},
		{anEvent, "हिन्दी.txt", id + "-हिन्दी.txt"},
		{anEvent, "ｆｕｌｌ／ｗｉｄｔｈ．ｔｘｔ", id + "-full_width.txt"},
		{anEvent, "a\u2024\u2024/b", id + "-b"},
		{anEvent, "\u0301\u0301x", id + "-x"},
		{anEvent, "bad\xff\xfename", id + "-bad_name"},
		{anEvent, "@file ~$(rm)`;|&.sh", id + "-file_rm_.sh"},
		{anEvent, strings.Repeat("a", 300) + ".tar", id + "-" + strings.Repeat("a", 72) + ".tar"},
		{anEvent, strings.Repeat("é", 300) + ".jpg", id + "-" + strings.Repeat("é", 36) + ".jpg"},
		{anEvent, "x." + strings.Repeat("e", 300), id + "-x." + strings.Repeat("e", 74)},
		{"$12345:example.org", "a", "12345-example-org-2fbffff39c-a"},
		{"", "a", "event-e3b0c44298-a"},
		{"$-x", "a", "x-6b0c5a5f45-a"},
	} {
		got := SafeName(c.event, c.name)
		if c.event != anEvent { // the hash is what it is
			head, tail := c.want[:strings.LastIndex(strings.TrimSuffix(c.want, "-a"), "-")], "-a"
			if !strings.HasPrefix(got, head+"-") || !strings.HasSuffix(got, tail) || len(got) != len(c.want) {
				t.Errorf("SafeName(%q, %q) = %q, want %s-<hash>-a", c.event, c.name, got, head)
			}
			continue
		}
		if got != c.want {
			t.Errorf("SafeName(%q, %q)\n got %q\nwant %q", c.event, c.name, got, c.want)
		}
	}
	if SafeName("$a.b", "x") == SafeName("$a:b", "x") || SafeName(anEvent+"1", "x") == SafeName(anEvent+"2", "x") {
		t.Error("files of two events share a name")
	}
}

func FuzzSafeName(f *testing.F) {
	for _, name := range []string{"", "..", "a/b", "x.tar.gz", "\u202e", strings.Repeat("\ufdfa", 300), "\xff"} {
		f.Add(anEvent, name)
	}
	f.Fuzz(func(t *testing.T, anEvent, name string) {
		got := SafeName(anEvent, name)
		if got == "" || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got[:1], ".-") {
			t.Errorf("SafeName(%q, %q) = %q", anEvent, name, got)
		}
		for _, r := range got {
			if r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) {
				t.Errorf("SafeName(%q, %q) = %q has %U", anEvent, name, got, r)
			}
		}
		if strings.Contains(got, "..") || SafeName(anEvent, name) != got {
			t.Errorf("SafeName(%q, %q) = %q", anEvent, name, got)
		}
		if again := CleanName(CleanName(name)); again != CleanName(name) {
			t.Errorf("CleanName(%q) is %q, and of that %q", name, CleanName(name), again)
		}
	})
}

func TestDescribe(t *testing.T) {
	secret := &attachment.EncryptedFile{
		Key:        attachment.JSONWebKey{Key: "k", Algorithm: "A256CTR", Extractable: true, KeyType: "oct", KeyOps: []string{"decrypt"}},
		InitVector: "i", Hashes: attachment.EncryptedFileHashes{SHA256: "h"}, Version: "v2",
	}
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
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(attachment.EncryptedFile{})); diff != "" || ok != c.ok {
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
		if name := file.FileName(anEvent, "image/png"); len(name) > maxName || !strings.HasPrefix(name, anEvent[1:]+"-") {
			t.Errorf("FileName of %q is %q", content, name)
		}
	})
}

func TestFileName(t *testing.T) {
	for _, c := range []struct {
		file       File
		kind, want string
	}{
		{File{Kind: Image, Name: "a.jpeg"}, "image/png", "a.jpeg"},
		{File{Kind: Sticker, Name: "a waving cat"}, "image/webp", "a_waving_cat.webp"},
		{File{Kind: Voice}, "audio/ogg", "voice.ogg"},
		{File{Kind: Plain, Name: "///"}, "application/x-odd", "file"},
		{File{Kind: Sticker, Name: strings.Repeat("long ", 99)}, "image/png", "long_long_long_long_long_long_long_long.png"},
	} {
		if got, want := c.file.FileName(anEvent, c.kind), anEvent[1:]+"-"+c.want; got != want {
			t.Errorf("file %+v is called %q, want %q", c.file, got, want)
		}
	}
	line := File{Kind: Voice}.Line("/workspace/inbox/x.ogg", "audio/ogg", 1500)
	if want := "[Voice Message] /workspace/inbox/x.ogg (audio/ogg, 1.5 kB)"; line != want {
		t.Errorf("line %q, want %q", line, want)
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
