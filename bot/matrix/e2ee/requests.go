package e2ee

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"maunium.net/go/mautrix"
)

// A homeserver answers /keys/query, /keys/claim and /members only after it has asked
// other homeservers, which may be dead. Such requests are made without m.mu, so that
// only the rooms that need the answers wait. mautrix's machine would make them itself,
// within its own locks; it is given the answers instead.

const (
	// askTime is how long our homeserver gets to ask the others.
	askTime = 10 * time.Second
	// fetchTime bounds a request that makes our homeserver ask others.
	fetchTime = 2 * askTime
	// sendTime bounds the machine's other requests, which are made while m.mu is held.
	sendTime = 30 * time.Second
)

// answers are the responses that mautrix's machine gets: nil means that nobody has any
// keys.
type answers struct{ query, claim []byte }

type answersKey struct{}

// with returns a context in which the machine requests no keys, but gets the answers.
func (a answers) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, answersKey{}, a)
}

// answering is the transport of the machine's requests.
type answering struct{ next http.RoundTripper }

// RoundTrip is part of [http.RoundTripper].
func (t answering) RoundTrip(req *http.Request) (*http.Response, error) {
	a, ok := req.Context().Value(answersKey{}).(answers)
	body := a.query
	switch {
	case !ok:
		return t.next.RoundTrip(req)
	case strings.HasSuffix(req.URL.Path, "/keys/claim"):
		body = a.claim
	case !strings.HasSuffix(req.URL.Path, "/keys/query"):
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	if body == nil {
		body = []byte("{}")
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}

// machineClient returns the client for mautrix's machines.
func machineClient(of *mautrix.Client) (*mautrix.Client, error) {
	cli, err := mautrix.NewClient(of.HomeserverURL.String(), of.UserID, of.AccessToken)
	if err != nil {
		return nil, fmt.Errorf("create client for encryption: %w", err)
	}
	cli.DeviceID, cli.Log, cli.UserAgent, cli.DefaultHTTPRetries = of.DeviceID, of.Log, of.UserAgent, of.DefaultHTTPRetries
	cli.Client = &http.Client{Transport: answering{cmp.Or(of.Client.Transport, http.DefaultTransport)}, Timeout: sendTime}
	return cli, nil
}
