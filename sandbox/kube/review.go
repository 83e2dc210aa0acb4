package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"matrix-tui/sandbox"
)

// maxRoom bounds a room ID in bytes, as the Matrix specification does.
const maxRoom = 255

var podName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$`)

// refusal is why a token does not open a room. It never contains the token.
type refusal string

// Error returns the reason.
func (r refusal) Error() string { return string(r) }

// tokenReview is the part of a TokenReview that counts.
type tokenReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Token     string   `json:"token"`
		Audiences []string `json:"audiences"`
	} `json:"spec"`
	Status struct {
		Authenticated bool     `json:"authenticated"`
		Audiences     []string `json:"audiences"`
		User          struct {
			Username string              `json:"username"`
			Extra    map[string][]string `json:"extra"`
		} `json:"user"`
	} `json:"status,omitzero"`
}

// described is an object of which only the metadata count.
type described struct {
	Metadata meta `json:"metadata"`
}

// reviewer asks the API server which room a token belongs to.
type reviewer struct {
	api      *api
	audience string
}

// room returns the room of the pod for which the cluster issued the token. Whoever may create pods could give one any
// annotation and any owner, so the room's Sandbox must say the same. An error that is no refusal says nothing about the
// token.
func (r reviewer) room(ctx context.Context, token string) (string, error) {
	name, uid, err := r.pod(ctx, token)
	if err != nil {
		return "", err
	}
	var pod described
	if err := r.get(ctx, "pod", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", r.api.namespace, name), &pod); err != nil {
		return "", err
	}
	room := pod.Metadata.Annotations[annotationRoom]
	switch {
	case pod.Metadata.UID != uid:
		return "", refusal("the pod has been replaced")
	case room == "" || len(room) > maxRoom:
		return "", refusal("the pod names no room")
	}
	by := slices.IndexFunc(pod.Metadata.Owners, func(o ownerOf) bool { return o.Controller })
	if by < 0 {
		return "", refusal("the pod has no owner")
	}
	of := pod.Metadata.Owners[by]
	if of.Kind != kind || of.Name != name || !strings.HasPrefix(of.APIVersion, group+"/") {
		return "", refusal("the pod's owner is not its Sandbox")
	}
	var box described
	path := fmt.Sprintf("/apis/%s/namespaces/%s/sandboxes/%s", version, r.api.namespace, name)
	if err := r.get(ctx, kind, path, &box); err != nil {
		return "", err
	}
	switch {
	case box.Metadata.UID == "" || box.Metadata.UID != of.UID:
		return "", refusal("the pod belongs to another Sandbox")
	case box.Metadata.Annotations[annotationRoom] != room:
		return "", refusal("the pod names another room than its Sandbox")
	}
	return room, nil
}

// pod returns which pod has the token.
func (r reviewer) pod(ctx context.Context, token string) (name, uid string, err error) {
	review := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	review.Spec.Token, review.Spec.Audiences = token, []string{r.audience}
	var reply tokenReview
	err = r.api.call(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", review, &reply)
	var said *status
	if errors.As(err, &said) { // its message may repeat the token
		err = &status{Code: said.Code, Message: "TokenReview failed"}
	}
	if err != nil {
		return "", "", fmt.Errorf("review a token: %w", err)
	}
	one := func(key string) string {
		if all := reply.Status.User.Extra["authentication.kubernetes.io/"+key]; len(all) == 1 {
			return all[0]
		}
		return ""
	}
	name, uid = one("pod-name"), one("pod-uid")
	switch {
	case !reply.Status.Authenticated:
		err = refusal("the cluster does not know the token")
	case !slices.Contains(reply.Status.Audiences, r.audience):
		err = refusal("the token is for somebody else than the bot")
	case reply.Status.User.Username != "system:serviceaccount:"+r.api.namespace+":"+account:
		err = refusal("the token is not one of a room's pod")
	case !podName.MatchString(name) || uid == "":
		err = refusal("the token does not belong to a pod")
	}
	return name, uid, err
}

// get reads an object. If there is none, that is a refusal.
func (r reviewer) get(ctx context.Context, what, path string, out *described) error {
	err := r.api.call(ctx, http.MethodGet, path, nil, out)
	if errors.Is(err, sandbox.ErrNotFound) {
		return refusal("the token's " + what + " does not exist")
	}
	if err != nil {
		return fmt.Errorf("look up the %s of a token: %w", what, err)
	}
	return nil
}
