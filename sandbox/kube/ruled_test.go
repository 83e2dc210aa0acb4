package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

// ruled is an API server with the rights that the manifests give the bot.
type ruled struct {
	mu        sync.Mutex
	namespace string
	may, did  map[string]bool
	objects   map[string]map[string]any // by path
	uids      int
	began     func(room string) // called, if not nil, when a pod of a room begins to run
	full      bool              // no pod is admitted, and nothing is tried again until an object changes
}

func newRuled(t *testing.T) *ruled {
	objects := manifestsOf(t)
	return &ruled{namespace: objects["Role matrix-tui"].Metadata.Namespace, may: rightsOf(t, objects),
		did: map[string]bool{}, objects: map[string]map[string]any{}}
}

// connect connects to the API server.
func (s *ruled) connect(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",`+
		`"contexts":[{"name":"c","context":{"cluster":"c","namespace":"`+s.namespace+`"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":"`+server.URL+`"}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := Connect(t.Context(), Config{Kubeconfig: kubeconfig, Storage: "1Gi", DoorCert: []byte("c")}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// rightsOf returns the rights of roles, such as "get agents.x-k8s.io/sandboxes in the namespace".
func rightsOf(t *testing.T, objects map[string]manifest) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for key, where := range map[string]string{"Role matrix-tui": " in the namespace", "ClusterRole matrix-tui-tokens": ""} {
		for _, rule := range objects[key].Rules {
			if len(rule.APIGroups)*len(rule.Resources)*len(rule.Verbs) == 0 || len(rule.ResourceNames) > 0 {
				t.Errorf("%s: %+v", key, rule)
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all[verb+" "+group+"/"+resource+where] = true
					}
				}
			}
		}
	}
	return all
}

func (s *ruled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, value := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(value)
}

func (s *ruled) answer(r *http.Request) (int, any) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	api := ""
	if path[0] == "apis" {
		api, path = path[1], path[1:]
	}
	path = path[2:]
	if len(path) == 0 { // every account may ask what there is
		return http.StatusOK, object{}
	}
	where := ""
	if path[0] == "namespaces" {
		if path[1] != s.namespace {
			return http.StatusForbidden, object{"message": "another namespace"}
		}
		where, path = " in the namespace", path[2:]
	}
	kind, one := path[0], len(path) == 2
	verb := map[string]string{"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}[r.Method]
	if r.Method == http.MethodGet {
		verb = map[bool]string{true: "get", false: "list"}[one]
	}
	if kind == "selfsubjectaccessreviews" { // likewise
		return s.says(r)
	}
	right := verb + " " + api + "/" + kind + where
	if len(path) > 2 || !s.may[right] {
		return http.StatusForbidden, object{"message": "the bot may not " + right + ": " + r.URL.Path}
	}
	s.did[right] = true
	var sent map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			return http.StatusBadRequest, object{"message": err.Error()}
		}
	}
	is := s.objects[r.URL.Path]
	switch {
	case verb == "list":
		items := []any{}
		for path, o := range s.objects {
			if strings.HasPrefix(path, r.URL.Path+"/") {
				items = append(items, o)
			}
		}
		return http.StatusOK, object{"items": items}
	case kind == "tokenreviews":
		return http.StatusCreated, s.review()
	case verb == "create":
		s.put(r.URL.Path+"/"+sent["metadata"].(map[string]any)["name"].(string), sent)
		return http.StatusCreated, sent
	case is == nil:
		return http.StatusNotFound, object{"message": "not found"}
	case verb == "get":
		return http.StatusOK, is
	case verb == "patch":
		is["spec"].(map[string]any)["operatingMode"] = sent["spec"].(map[string]any)["operatingMode"]
		s.control(r.URL.Path, is)
		return http.StatusOK, is
	}
	delete(s.objects, r.URL.Path)
	for path, o := range s.objects { // what it owns
		if owners, ok := o["metadata"].(map[string]any)["ownerReferences"]; ok &&
			owners.([]any)[0].(map[string]any)["uid"] == is["metadata"].(map[string]any)["uid"] {
			delete(s.objects, path)
		}
	}
	for path, o := range s.objects {
		s.control(path, o)
	}
	return http.StatusOK, object{}
}

// says answers whether the bot may do something.
func (s *ruled) says(r *http.Request) (int, any) {
	var review struct {
		Spec struct {
			ResourceAttributes struct{ Namespace, Group, Resource, Subresource, Verb string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return http.StatusBadRequest, object{"message": err.Error()}
	}
	a := review.Spec.ResourceAttributes
	right := a.Verb + " " + a.Group + "/" + a.Resource
	if a.Subresource != "" {
		right += "/" + a.Subresource
	}
	allowed := s.may[right] || s.may[right+" in the namespace"] && a.Namespace == s.namespace
	return http.StatusCreated, object{"status": object{"allowed": allowed}}
}

func (s *ruled) put(path string, o map[string]any) {
	s.uids++
	o["metadata"].(map[string]any)["uid"] = fmt.Sprint("uid-", s.uids)
	s.objects[path] = o
	s.control(path, o)
}

// control does what agent-sandbox does.
func (s *ruled) control(path string, o map[string]any) {
	if o["kind"] != kind {
		return
	}
	of, spec := o["metadata"].(map[string]any), o["spec"].(map[string]any)
	pod := "/api/v1/namespaces/" + s.namespace + "/pods/" + of["name"].(string)
	if spec["operatingMode"] == suspended {
		delete(s.objects, pod)
		return
	}
	if s.full {
		o["status"] = object{"conditions": []any{object{"type": "Ready", "status": "False", "message": "exceeded quota: pods"}}}
		return
	}
	o["status"] = object{"conditions": []any{object{"type": "Ready", "status": "True"}}}
	if s.objects[pod] != nil {
		return
	}
	template := spec["podTemplate"].(map[string]any)["metadata"].(map[string]any)
	s.put(pod, map[string]any{"kind": "Pod", "status": object{"hostIPs": []any{object{"ip": "10.0.0.2"}}}, "metadata": map[string]any{"name": of["name"], "labels": template["labels"],
		"annotations": template["annotations"], "ownerReferences": []any{map[string]any{"apiVersion": version, "kind": kind,
			"name": of["name"], "uid": of["uid"], "controller": true}}}})
	if s.began != nil {
		go s.began(template["annotations"].(map[string]any)[annotationRoom].(string))
	}
}

// review says that a token is that of the only pod.
func (s *ruled) review() any {
	extra := object{}
	for path, o := range s.objects {
		if m := o["metadata"].(map[string]any); strings.Contains(path, "/pods/") {
			extra["authentication.kubernetes.io/pod-name"] = []any{m["name"]}
			extra["authentication.kubernetes.io/pod-uid"] = []any{m["uid"]}
		}
	}
	return object{"status": object{"authenticated": true, "audiences": []any{audience}, "user": object{
		"username": "system:serviceaccount:" + s.namespace + ":" + account, "extra": extra}}}
}
