package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"matrix-tui/sandbox"
)

// rights are what the bot does in its namespace: deploy/kubernetes/rbac.yaml grants just that.
var rights = []struct {
	group, resource string
	verbs           []string
}{
	{group, "sandboxes", []string{"get", "list", "create", "patch", "delete"}},
	{"", "persistentvolumeclaims", []string{"get", "list", "create", "delete"}},
	{"", "pods", []string{"get", "delete"}},
	{"authentication.k8s.io", "tokenreviews", []string{"create"}},
}

// tooMuch is what the bot must not be able to do: whoever takes it over could do it, too.
var tooMuch = []struct{ group, resource, verb string }{
	{"", "secrets", "list"}, {"", "secrets", "get"}, {"", "pods/exec", "create"}, {"", "pods", "create"},
}

// Check asks the cluster about itself, for doctor.
type Check struct{ *api }

// Check returns what can be asked.
func (c *Cluster) Check() Check { return Check{c.server} }

// Namespace is where the rooms' objects are.
func (c Check) Namespace() string { return c.namespace }

// Missing lists what the bot may not do in the cluster and has to, in kubectl's words.
func (c Check) Missing(ctx context.Context) (missing []string, err error) {
	for _, r := range rights {
		for _, verb := range r.verbs {
			may, err := c.may(ctx, r.group, r.resource, verb)
			if err != nil {
				return nil, err
			}
			if !may {
				missing = append(missing, verb+" "+r.resource)
			}
		}
	}
	return missing, nil
}

// Needless lists what the bot may do and does not need.
func (c Check) Needless(ctx context.Context) (needless []string, err error) {
	for _, r := range tooMuch {
		may, err := c.may(ctx, r.group, r.resource, r.verb)
		if err != nil {
			return nil, err
		}
		if may {
			needless = append(needless, r.verb+" "+r.resource)
		}
	}
	return needless, nil
}

// may asks the cluster whether this client may do something.
func (c Check) may(ctx context.Context, group, resource, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	asked := object{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": object{
		"resourceAttributes": object{"namespace": c.namespace, "group": group, "resource": resource, "subresource": sub,
			"verb": verb}}}
	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	err := c.call(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked, &answer)
	if err != nil {
		return false, fmt.Errorf("ask about the right to %s %s: %w", verb, resource, err)
	}
	return answer.Status.Allowed, nil
}

// Account reports whether pods have the service account that they are to have.
func (c Check) Account(ctx context.Context) (bool, error) {
	err := c.call(ctx, http.MethodGet, c.in("/api/v1", "serviceaccounts", account), nil, nil)
	var refused *status
	if errors.As(err, &refused) && refused.Code == http.StatusForbidden {
		return true, nil // unknown: the bot need not read it
	}
	if errors.Is(err, sandbox.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Server returns the API server's address, and its version.
func (c Check) Server(ctx context.Context) (address, release string, err error) {
	var about struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := c.call(ctx, http.MethodGet, "/version", nil, &about); err != nil {
		return "", "", fmt.Errorf("ask the API server's version: %w", err)
	}
	return c.base.Host, about.GitVersion, nil
}
