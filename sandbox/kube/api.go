package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"matrix-tui/sandbox"
	"matrix-tui/state/retry"
)

// maxReply bounds what is read of a reply, in bytes: a list of 5,000 objects has about 20 MB.
const maxReply = 64 << 20

// api talks to a cluster's API server. Of client-go, it uses what finds the server and signs in; that costs 3 MB of the
// program, and the types of all objects would cost as much again.
type api struct {
	http      *http.Client
	base      *url.URL
	namespace string
}

// open finds the API server: by a kubeconfig file, "" = that of kubectl ($KUBECONFIG or ~/.kube/config), or else, in a
// pod, by what every pod is told. Namespace "" is that of the file's context, or the pod's own one.
func open(kubeconfig, namespace string) (*api, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err := loaded.ClientConfig() // falls back to the pod's
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, fmt.Errorf("find the namespace: %w", err)
		}
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("sign in to the cluster: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	return &api{http: client, base: base, namespace: namespace}, nil
}

// in is the path of all objects of a kind in the namespace, or of one. Root is that of an API.
func (a *api) in(root, kind, name string) string {
	path := root + "/namespaces/" + a.namespace + "/" + kind
	if name != "" {
		path += "/" + nameOf(name)
	}
	return path
}

const (
	// gonePoll is how often a deleted object is looked for.
	gonePoll = 200 * time.Millisecond
	// goneTime is how long it may take to go: what is on a lost node stays until an operator says that the machine is off.
	goneTime = time.Minute
)

// gone waits until the object with that UID no longer exists. It returns errEnding if that takes too long.
func (a *api) gone(ctx context.Context, path, uid string) error {
	for begun := time.Now(); ; {
		var o struct {
			Metadata meta `json:"metadata"`
		}
		err := a.call(ctx, http.MethodGet, path, nil, &o)
		if errors.Is(err, sandbox.ErrNotFound) || err == nil && o.Metadata.UID != uid {
			return nil
		}
		if err != nil && !errors.Is(err, sandbox.ErrUnreachable) {
			return ending(err)
		}
		if time.Since(begun) > goneTime {
			return cmp.Or(err, error(errEnding))
		}
		if err := retry.Sleep(ctx, gonePoll); err != nil {
			return ending(err)
		}
	}
}

// ending is errEnding for a caller that has waited as long as it could.
func ending(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errEnding, err)
	}
	return err
}

// status is an error of the API server.
type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error returns the API server's own words.
func (s *status) Error() string {
	return fmt.Sprintf("the API server says %d: %.500s", s.Code, s.Message)
}

// Unwrap returns what the error means for a room.
func (s *status) Unwrap() error {
	switch {
	case s.Code == http.StatusNotFound:
		return sandbox.ErrNotFound
	case s.Code == http.StatusConflict && s.Reason == "AlreadyExists":
		return sandbox.ErrNameTaken
	case s.Code == http.StatusTooManyRequests, s.Code >= 500:
		return ErrUnreachable
	case strings.Contains(s.Message, "exceeded quota"):
		return pending(s.Message)
	case s.Code == http.StatusConflict:
		return errBusy
	}
	return denied(s.Message)
}

// callTime is how long the API server may take to answer.
const callTime = 30 * time.Second

// call sends a request and reads the reply into out, unless that is nil. In is the body, nil = none. An error of the
// API server is a *status.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	within, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := a.ask(within, method, path, in, out)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: no answer within %s", ErrUnreachable, callTime)
	}
	return err
}

func (a *api) ask(ctx context.Context, method, path string, in, out any) error {
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	path, query, _ := strings.Cut(path, "?")
	at := a.base.JoinPath(path)
	at.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Accept", "application/json")
	response, err := a.http.Do(request)
	if err != nil {
		return a.unanswered(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return a.unanswered(err)
	}
	if response.StatusCode >= 300 {
		said := &status{Message: strings.TrimSpace(string(data))}
		_ = json.Unmarshal(data, said) // if it is not JSON, it is the message
		said.Code = response.StatusCode
		return said
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the API server's reply: %w", err)
	}
	return nil
}

// unanswered says of an error without a reply that the API server does not answer, unless the caller gave up.
func (a *api) unanswered(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // the address is in the log at the start
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var refused *net.OpError
	if errors.As(err, &refused) {
		err = refused
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
