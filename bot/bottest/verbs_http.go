package bottest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"matrix-tui/bot/bottest/host"
)

// apiToken is the token of the bot's HTTP API. It is set in each start; API_LISTEN=0 enables the API.
func (sc *script) apiToken() string {
	sum := sha256.Sum256([]byte("API_TOKEN " + sc.key))
	return hex.EncodeToString(sum[:16])
}

// listens is the address of which the running bot says this in its log.
func (sc *script) listens(said string) (string, error) {
	for text := range strings.Lines(sc.bot.now()) {
		var line struct{ Message, Address string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Message == said && line.Address != "" {
			return line.Address, nil
		}
	}
	return "", fmt.Errorf("the bot's log does not say %q: start it with API_LISTEN=0 or WEB_LISTEN=0", said)
}

var placeholder = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// fill expands $den, $bot and $ID: testscript does not expand them in quotes, which JSON needs. An unknown name stays
// unchanged.
func (sc *script) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if value := sc.ts.Getenv(name[1:]); value != "" {
			return value
		}
		return name
	})
}

// doHTTP sends one request with the bot's token. Arguments after the body are headers; one without a value removes that
// header. The status and the body go to stdout; a session ID in it becomes $ID.
func doHTTP(ctx context.Context, sc *script, _ bool, args []string) error {
	status, body, err := sc.http(ctx, args)
	if err != nil {
		return err
	}
	fmt.Fprintf(sc.ts.Stdout(), "%s\n%s", status, body)
	return nil
}

// doHTTPWait requests a path until the response's body matches.
func doHTTPWait(ctx context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[1])
	if err != nil {
		return err
	}
	var status, body string
	err = host.Poll(ctx, func() (bool, error) {
		var err error
		status, body, err = sc.http(ctx, []string{"GET", args[0]})
		return err == nil && re.MatchString(body), err
	})
	if err != nil {
		return fmt.Errorf("%s does not come to fit %q: %w: %s %s", args[0], args[1], err, status, cut(body, 1000))
	}
	fmt.Fprintf(sc.ts.Stdout(), "%s\n%s", status, body)
	return nil
}

func (sc *script) http(ctx context.Context, args []string) (status, body string, err error) {
	address, err := sc.listens("listening")
	if err != nil {
		return "", "", err
	}
	var content io.Reader = http.NoBody
	headers := []string{"Authorization: Bearer " + sc.apiToken()}
	if len(args) > 2 {
		if args[2] != "" {
			content = strings.NewReader(sc.fill(args[2]))
			headers = append(headers, "Content-Type: application/json")
		}
		headers = append(headers, args[3:]...)
	}
	req, err := http.NewRequestWithContext(ctx, args[0], "http://"+address+sc.fill(args[1]), content)
	if err != nil {
		return "", "", fmt.Errorf("make request: %w", err)
	}
	req.Close = true // a bot that was killed since could not withdraw its address
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		if req.Header.Del(name); strings.TrimSpace(value) != "" {
			req.Header.Set(name, strings.TrimSpace(sc.fill(value)))
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", "", fmt.Errorf("ask the bot: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return "", "", fmt.Errorf("read the bot's answer: %w", err)
	}
	var named struct {
		ID string `json:"session_id"`
	}
	if json.Unmarshal(data, &named) == nil && named.ID != "" {
		sc.ts.Setenv("ID", named.ID)
	}
	return resp.Status, string(data), nil
}
