package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

const evil = "a\n\"b\" ü\xff;.html"

// Look is that of a workspace with some files.
func (h *house) Look(_ context.Context, v state.Visitor, room, path string) (bot.Found, error) {
	if v.User != "@alice:h" || room != "!den:h" {
		return bot.Found{}, bot.ErrNoRoom
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if path == "" {
		found := bot.Found{Entry: sandbox.Entry{Folder: true}}
		for name := range h.files {
			found.Entries = append(found.Entries, sandbox.Entry{Name: []byte(name), File: true, Size: 5, Modified: time.Now()})
		}
		return found, nil
	}
	if content, ok := h.files[path]; ok {
		return bot.Found{Entry: sandbox.Entry{Name: []byte(path), File: true, Size: int64(len(content))}}, nil
	}
	return bot.Found{}, bot.ErrNoFile
}

func (h *house) Download(_ context.Context, _ state.Visitor, _, path string, size int64, w io.Writer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := io.WriteString(w, h.files[path]); err != nil || h.breaks == nil {
		return err
	}
	return h.breaks
}

func (h *house) Upload(_ context.Context, v state.Visitor, room, path, name string, from io.Reader) error {
	if v.User != "@alice:h" || room != "!den:h" {
		return bot.ErrNoRoom
	}
	data, err := io.ReadAll(from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if path == "too much" {
		return sentence.New(errors.New("full"), "The disk is full.")
	}
	if _, ok := h.files[path]; ok {
		return sentence.Newf(bot.ErrFileExists, "There is already a file %s.", name)
	}
	if err == nil {
		h.files[path] = string(data)
	}
	return err
}

// send posts files as a browser does, and returns the status and the page.
func (b *browser) send(path string, files ...string) (int, string) {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(files); i += 2 {
		part, err := form.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(part, files[i+1])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		b.Fatal(err)
	}
	resp, text := b.read(b.http.Post(b.base+path, form.FormDataContentType(), &body))
	return resp.StatusCode, text
}

// Files go both ways whatever they are called, and no browser shows one of them.
func TestFiles(t *testing.T) {
	h, browse := newHouse(t)
	h.files = map[string]string{evil: "<script>window.ran=true</script>", "x.svg": "<svg onload=alert(1)>"}
	alice, mallory := browse(), browse()
	alice.signIn(h, "@alice:h")
	mallory.signIn(h, "@mallory:h")
	status, page := alice.get("/r/!den:h/files/")
	alice.wants(200, `href="/r/%21den:h/files/a%0A%22b%22%20%C3%BC%FF%3B.html" download>`)(status, page)
	for path, name := range map[string]string{"a%0A%22b%22%20%C3%BC%FF%3B.html": evil, "x.svg": "x.svg"} {
		resp, err := alice.http.Get(alice.base + "/r/!den:h/files/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		header := resp.Header
		if string(data) != h.files[name] || err != nil || header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(header.Get("Content-Disposition"), "attachment;") || header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") || resp.ContentLength != int64(len(data)) {
			t.Errorf("%q, %v, %v", data, header, err)
		}
	}
	mallory.wants(404, "no such page")(mallory.get("/r/!den:h/files/"))
	mallory.wants(404, "no such page")(mallory.get("/r/!den:h/files/x.svg"))
	mallory.wants(404, "no such page")(mallory.send("/r/!den:h/files/", "x", "y"))
	alice.wants(404, "no such page")(alice.get("/r/!den:h/files/none"))

	big := strings.Repeat("x", 2*maxBody)
	alice.wants(200, "2 files were saved")(alice.send("/r/!den:h/files/", "../../plan.txt", big, "<b> ü 😀.html", "y"))
	if h.files["plan.txt"] != big || h.files["<b> ü 😀.html"] != "y" {
		t.Errorf("the workspace has %d files", len(h.files))
	}
	status, page = alice.send("/r/!den:h/files/", "one", "1", "plan.txt", "other", "two", "2")
	alice.wants(409, "already something called <code>plan.txt</code>")(status, page)
	alice.wants(409, "2 files were saved")(status, page)
	if h.files["two"] != "2" {
		t.Error("a file after one that exists was not saved")
	}
	alice.wants(503, "1 file was saved. The disk is full.")(alice.send("/r/!den:h/files/", "three", "3", "too much", "x", "four", "4"))
	alice.wants(400, "no file")(alice.send("/r/!den:h/files/"))
	alice.wants(400, "incomplete")(alice.post("/r/!den:h/files/", "file", "x"))
	if h.files["plan.txt"] != big {
		t.Error("a file was replaced")
	}

	h.breaks = errors.New("the container is gone")
	if resp, err := alice.http.Get(alice.base + "/r/!den:h/files/x.svg"); err == nil {
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK && resp.ContentLength != int64(len(h.files["x.svg"])) {
			t.Error("half of a file looks like all of it")
		}
	}
}

func TestUploadName(t *testing.T) {
	for given, want := range map[string]string{"plan.txt": "plan.txt", "with spaces ü.txt": "with spaces ü.txt", ".env": ".env", "-dash": "-dash",
		`C:\fakepath\x.md`: "x.md", "../../x": "x", "it's %22quoted%22.txt": `it's "quoted".txt`, "..": "file", ".": "file", "/": "file", " ": "file",
		"a\nb": "a b", "a%0D%0Ab": "a b", "a\x00b\u202etxt.exe": "a btxt.exe", "😀 emoji.md": "😀 emoji.md", "50%20#?&.txt": "50%20#?&.txt"} {
		if got := uploadName(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got := uploadName(strings.Repeat("é", 300)); len(got) > maxUploadName {
		t.Errorf("%d bytes", len(got))
	}
}
