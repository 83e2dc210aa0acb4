package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// pagePort returns a free port for the bot's page: the one of the last time if possible, so that links in old messages
// still work.
func pagePort(ctx context.Context, last int) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(last)))
	if err != nil && last != 0 {
		return pagePort(ctx, 0)
	}
	if err != nil {
		return 0, fmt.Errorf("find a port for the page: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// introducePage waits until the page is up and says where it is, and how to sign in.
func (d *demo) introducePage(ctx context.Context, port int) {
	const how = "  Open it, send the bot the command that it shows, here or in an encrypted chat, and enter the number from " +
		"the answer.\n\n"
	if d.setting("WEB_LISTEN") != "" || d.setting("WEB_URL") != "" {
		fmt.Fprint(d.stdout, "  The bot has a page for browsers: send !page to see where.\n"+how)
		return
	}
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	for !answers(ctx, address+"/signin") {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	fmt.Fprintf(d.stdout, "\n  The bot's page for browsers is %s\n%s", address, how)
}

// answers reports whether a request has an answer and no error of the server.
func answers(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode < http.StatusInternalServerError
}
