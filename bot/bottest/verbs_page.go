package bottest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// doPageNumber makes $NUMBER what the bot has answered last to a code in a room.
func doPageNumber(_ context.Context, sc *script, _ bool, args []string) error {
	_, _, m, err := sc.newest([]string{args[0], args[1], "in the browser that shows this code"})
	if err != nil {
		return err
	}
	sc.ts.Setenv("NUMBER", regexp.MustCompile(`[0-9]{6}`).FindString(m.Body))
	return nil
}

var pageCode = regexp.MustCompile(`>(!page [A-Z2-7]+)<`)

// doPageCode makes $CODE what a user's browser asks to be sent to the bot.
func doPageCode(ctx context.Context, sc *script, _ bool, args []string) error {
	_, body, err := sc.browse(ctx, args[0], http.MethodGet, "/signin", "", nil)
	if err != nil {
		return err
	}
	found := pageCode.FindStringSubmatch(body)
	if found == nil {
		return fmt.Errorf("the page shows no code: %s", cut(body, 1500))
	}
	sc.ts.Setenv("CODE", found[1])
	return nil
}

var previewLink = regexp.MustCompile(`href="(http://[a-z0-9]+\.localhost:[^"]+)"`)

var yesButton = regexp.MustCompile(`value="(yes [0-9]{4})"`)

// doPage shows a page to a user; its text goes to stdout, $YES is what its button to approve a command sends, and
// $PREVIEW the preview to which it links. !page: the bot refuses it.
func doPage(ctx context.Context, sc *script, neg bool, args []string) error {
	return sc.visit(ctx, neg, args[0], http.MethodGet, args[1], "", nil)
}

// doPress sends a form of a page. A value that begins with @ is a file, which is sent as that. !press: the bot refuses it.
func doPress(ctx context.Context, sc *script, neg bool, args []string) error {
	var files bytes.Buffer
	parts, form := multipart.NewWriter(&files), url.Values{}
	for _, field := range args[2:] {
		name, value, _ := strings.Cut(field, "=")
		path, is := strings.CutPrefix(value, "@")
		if !is {
			form.Set(name, sc.fill(value))
			continue
		}
		data, err := os.ReadFile(sc.ts.MkAbs(path))
		if err != nil {
			return err
		}
		part, err := parts.CreateFormFile(name, filepath.Base(path))
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			return err
		}
	}
	if files.Len() == 0 {
		return sc.visit(ctx, neg, args[0], http.MethodPost, args[1], "application/x-www-form-urlencoded",
			strings.NewReader(form.Encode()))
	}
	if err := parts.Close(); err != nil {
		return err
	}
	return sc.visit(ctx, neg, args[0], http.MethodPost, args[1], parts.FormDataContentType(), &files)
}

// visit prints what the page says, which must be an error if neg.
func (sc *script) visit(ctx context.Context, neg bool, user, method, path, kind string, body io.Reader) error {
	resp, shown, err := sc.browse(ctx, user, method, path, kind, body)
	if err != nil {
		return err
	}
	fmt.Fprintf(sc.ts.Stdout(), "%s\n%s", resp.Status, shown)
	if found := yesButton.FindStringSubmatch(shown); found != nil {
		sc.ts.Setenv("YES", found[1])
	}
	if found := previewLink.FindStringSubmatch(shown); found != nil {
		sc.ts.Setenv("PREVIEW", found[1])
	}
	if refused := resp.StatusCode >= http.StatusBadRequest; refused != neg {
		return fmt.Errorf("the page says %s: %s", resp.Status, cut(shown, 1500))
	}
	return nil
}

func (sc *script) browse(ctx context.Context, user, method, path, kind string, body io.Reader) (*http.Response, string, error) {
	address, err := sc.listens("the page is up")
	if err != nil {
		return nil, "", err
	}
	if path = sc.fill(path); !strings.HasPrefix(path, "http://") {
		path = "http://" + address + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		return nil, "", fmt.Errorf("make request: %w", err)
	}
	req.Close = true // see http
	req.Header.Set("Content-Type", kind)
	resp, err := sc.browser(user).Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("ask the page: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return nil, "", fmt.Errorf("read the page: %w", err)
	}
	return resp, string(data), nil
}

// browser returns a user's browser, which keeps cookies.
func (sc *script) browser(user string) *http.Client {
	if sc.browsers[user] == nil {
		jar, _ := cookiejar.New(nil) // it cannot fail
		if sc.browsers == nil {
			sc.browsers = map[string]*http.Client{}
		}
		local := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".localhost") {
				address = "127.0.0.1:" + port // as browsers do
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
		sc.browsers[user] = &http.Client{Jar: jar, Transport: local}
	}
	return sc.browsers[user]
}

// doPageLarge uploads a file of so many MB to a room's workspace, and downloads it again.
func doPageLarge(ctx context.Context, sc *script, _ bool, args []string) error {
	size, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	size <<= 20
	address, err := sc.listens("the page is up")
	if err != nil {
		return err
	}
	base := "http://" + address + "/r/" + url.PathEscape(sc.rooms[args[1]].id) + "/files/"
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		part, err := form.CreateFormFile("file", "large.bin")
		if err == nil {
			_, err = io.CopyN(part, zeros{}, size)
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
	}()
	for _, step := range []struct {
		method, address string
		body            io.Reader
		want            int64
	}{{http.MethodPost, base, from, 0}, {http.MethodGet, base + "large.bin", nil, size}} {
		req, err := http.NewRequestWithContext(ctx, step.method, step.address, step.body)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		resp, err := sc.browser(args[0]).Do(req)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || n < step.want {
			return fmt.Errorf("%s: %s, %d bytes, %w", step.method, resp.Status, n, err)
		}
	}
	return nil
}

type zeros struct{}

// Read reads zeros.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
