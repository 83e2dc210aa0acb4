package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// cluster is an API server with one pod, which the token is for, unless a test changes that.
type cluster struct {
	mu      sync.Mutex
	review  map[string]any            // the status of a TokenReview of theToken
	objects map[string]map[string]any // by path
	broken  http.HandlerFunc          // answers everything, if not nil
	asked   []string                  // the tokens that were reviewed
}

// newCluster returns one where everything is as it should be.
func newCluster() *cluster {
	annotations := map[string]any{"io.matrix-tui.room": denRoom}
	return &cluster{
		review: map[string]any{
			"authenticated": true, "audiences": []any{"matrix-tui"},
			"user": map[string]any{
				"username": "system:serviceaccount:rooms:matrix-tui-sandbox", "uid": "1a",
				"groups": []any{"system:serviceaccounts", "system:serviceaccounts:rooms", "system:authenticated"},
				"extra": map[string]any{
					"authentication.kubernetes.io/credential-id": []any{"JTI=a9"},
					"authentication.kubernetes.io/node-name":     []any{"node1"},
					"authentication.kubernetes.io/pod-name":      []any{"den"},
					"authentication.kubernetes.io/pod-uid":       []any{"pod-1"},
				},
			},
		},
		objects: map[string]map[string]any{
			podPath: {"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
				"name": "den", "namespace": "rooms", "uid": "pod-1", "annotations": annotations,
				"creationTimestamp": "2026-11-29T00:00:00Z",
				"ownerReferences": []any{map[string]any{
					"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "name": "den", "uid": "box-1",
					"controller": true, "blockOwnerDeletion": true,
				}},
			}},
			boxPath: {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": map[string]any{
				"name": "den", "namespace": "rooms", "uid": "box-1", "annotations": annotations,
			}, "spec": map[string]any{"operatingMode": "Running"}},
		},
	}
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := func(code int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(value)
	}
	switch object := c.objects[r.URL.Path]; {
	case c.broken != nil:
		c.broken(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/apis/authentication.k8s.io/v1/tokenreviews":
		var sent struct{ Spec map[string]any }
		json.NewDecoder(r.Body).Decode(&sent)
		token, _ := sent.Spec["token"].(string)
		c.asked = append(c.asked, token)
		status := map[string]any{"user": map[string]any{}, "error": "[invalid bearer token, token lookup failed]"}
		if strings.HasPrefix(token, theToken) && fmt.Sprint(sent.Spec["audiences"]) == "[matrix-tui]" {
			status = c.review
		}
		reply(http.StatusCreated, map[string]any{"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1",
			"metadata": map[string]any{"creationTimestamp": nil}, "spec": sent.Spec, "status": status})
	case r.Method == http.MethodGet && object != nil:
		reply(http.StatusOK, object)
	default:
		reply(http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"message": "not found", "reason": "NotFound", "code": 404})
	}
}

// change changes the cluster while it runs.
func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *cluster) reviews() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.asked...)
}
