package e2ee

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

// A homeserver answers /keys/query, /keys/claim and /members only after it has asked other homeservers, which may be
// dead.
//
// mautrix 0.32 asks for the keys of all users of a room with one request, which fails as a whole if our homeserver does
// not give up on a dead one in time, and it does so where it stores devices and encrypts to them. So we make these
// requests ourselves, one for each homeserver and without a lock, and give mautrix the answers.

const (
	// askTime is how long our homeserver gets to ask the others.
	askTime = 10 * time.Second
	// fetchTime bounds a request that makes our homeserver ask others.
	fetchTime = 2 * askTime
	// sendTime bounds the machine's other requests, which are made while m.mu is held.
	sendTime = 30 * time.Second
)

// errLate is the cause of the end of a request's context when its time is up.
var errLate = errors.New("our homeserver has not answered in time")

// bounded returns the context of a request that makes our homeserver ask others. Stop ends it, too.
func (m *core) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errLate)
	if m.ctx.Err() != nil {
		cancel()
	}
	unhook := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { unhook(); cancel() }
}

// late reports whether another homeserver is the reason that a request about its users, one
// of whom is user, has failed: ours has not answered in time.
func (m *core) late(ctx context.Context, user id.UserID) bool {
	return errors.Is(context.Cause(ctx), errLate) && user.Homeserver() != m.cfg.Client.UserID.Homeserver()
}

// maxServers is the number of homeservers in a room from which on they share requests.
const maxServers = 30

// byServer runs a request about the users or devices of each homeserver, all at the same time, so that a dead one
// delays only its own. Where there are very many, they share requests, except for those to our own homeserver.
func byServer[T any](m *core, all []T, user func(T) id.UserID, run func([]T) error) error {
	groups, shared, own := map[string][]T{}, map[string]string{}, m.cfg.Client.UserID
	for _, one := range all {
		name := user(one).Homeserver()
		if user(one) == own {
			name = "" // in every room, and never a reason to wait
		}
		group, known := shared[name]
		if !known {
			group = name
			if len(groups) >= maxServers && name != "" && name != own.Homeserver() {
				group = fmt.Sprintf("#%d", len(shared)%maxServers)
			}
			shared[name] = group
		}
		groups[group] = append(groups[group], one)
	}
	var requests errgroup.Group
	for _, group := range groups {
		requests.Go(func() error { return recovered(func() error { return run(group) }) })
	}
	return requests.Wait()
}

// recovered calls f and returns its error, or that it caused a panic, which would end the
// process in a goroutine of ours. Data that others have sent can cause one in a library.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

type answerKey struct{}

// withAnswer returns a context in which mautrix's machine gets this answer to /keys/query, and no keys from
// /keys/claim.
func withAnswer(ctx context.Context, query []byte) context.Context {
	return context.WithValue(ctx, answerKey{}, query)
}

// withoutRequests returns a context in which mautrix's machine gets no keys of others.
func withoutRequests(ctx context.Context) context.Context { return withAnswer(ctx, []byte("{}")) }

// answering is the transport of the machine's requests.
type answering struct{ next http.RoundTripper }

// RoundTrip is part of [http.RoundTripper].
func (t answering) RoundTrip(req *http.Request) (*http.Response, error) {
	body, ok := req.Context().Value(answerKey{}).([]byte)
	switch {
	case !ok:
		return t.next.RoundTrip(req)
	case strings.HasSuffix(req.URL.Path, "/keys/claim"):
		body = []byte("{}")
	case !strings.HasSuffix(req.URL.Path, "/keys/query"):
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}

// newClient returns a client for mautrix's machine.
func (m *core) newClient() (*mautrix.Client, error) {
	of := m.cfg.Client
	cli, err := mautrix.NewClient(of.HomeserverURL.String(), of.UserID, of.AccessToken)
	if err != nil {
		return nil, fmt.Errorf("create client for encryption: %w", err)
	}
	cli.DeviceID, cli.Log, cli.UserAgent, cli.DefaultHTTPRetries = of.DeviceID, of.Log, of.UserAgent, of.DefaultHTTPRetries
	cli.Client = &http.Client{Transport: answering{cmp.Or(of.Client.Transport, http.DefaultTransport)}, Timeout: sendTime}
	return cli, nil
}
