package kube

import (
	"slices"
	"time"

	"matrix-tui/sandbox"
)

// What is here of Kubernetes' objects, and of agent-sandbox's, is what this package reads or writes. Agent-sandbox's
// API is young: everything about its shape is in this file. Source: agents.x-k8s.io/v1beta1 of agent-sandbox 0.5.
const (
	group     = "agents.x-k8s.io"
	version   = group + "/v1beta1"
	kind      = "Sandbox"
	running   = "Running"
	suspended = "Suspended"
)

// Labels and annotations of our objects.
const (
	labelOwner       = "app.kubernetes.io/managed-by"
	owner            = "matrix-tui"
	annotationRoom   = "io.matrix-tui.room"
	annotationName   = "io.matrix-tui.name" // as in state.json: an object's name has no capitals
	annotationImage  = "io.matrix-tui.image"
	annotationSpec   = "io.matrix-tui.spec" // changes with the pod's template
	annotationStrong = "io.matrix-tui.strength"
	annotationPath   = "io.matrix-tui.operations" // the protocol of its boxinit
	annotationAsked  = "io.matrix-tui.storage"    // what a claim asked for, as it was set
)

// meta is an object's metadata.
type meta struct {
	Name        string            `json:"name,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Version     string            `json:"resourceVersion,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Created     *time.Time        `json:"creationTimestamp,omitempty"`
	Deleted     *time.Time        `json:"deletionTimestamp,omitempty"`
	Owners      []ownerOf         `json:"ownerReferences,omitempty"`
}

// ownerOf is an ownerReference.
type ownerOf struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
}

type list[T any] struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// sandboxObject is a Sandbox.
type sandboxObject struct {
	APIVersion string      `json:"apiVersion,omitempty"`
	Kind       string      `json:"kind,omitempty"`
	Metadata   meta        `json:"metadata"`
	Spec       sandboxSpec `json:"spec"`
	Status     struct {
		Conditions []condition `json:"conditions"`
	} `json:"status,omitzero"`
}

type sandboxSpec struct {
	OperatingMode string      `json:"operatingMode"`
	Service       bool        `json:"service"`
	PodTemplate   podTemplate `json:"podTemplate"`
}

type podTemplate struct {
	Metadata meta           `json:"metadata"`
	Spec     map[string]any `json:"spec"` // a PodSpec
}

type condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"lastTransitionTime"`
}

// is reports whether a condition holds, and returns it.
func is(conditions []condition, kind string) (condition, bool) {
	for _, c := range conditions {
		if c.Type == kind {
			return c, c.Status == "True"
		}
	}
	return condition{}, false
}

// pod is what is read of a Pod.
type pod struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Node string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Hosts      []hostIP    `json:"hostIPs"` // of its node
		Conditions []condition `json:"conditions"`
		Containers []container `json:"containerStatuses"`
		Relays     []container `json:"initContainerStatuses"`
	} `json:"status"`
}

type hostIP struct {
	IP string `json:"ip"`
}

// hosts are the addresses of the pod's node, one of each family.
func (p pod) hosts() (all []string) {
	for _, one := range p.Status.Hosts[:min(len(p.Status.Hosts), maxTraps)] {
		all = append(all, one.IP)
	}
	return all
}

type container struct {
	State struct {
		Running *struct{} `json:"running"`
		Waiting struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
	} `json:"state"`
}

// claim is a PersistentVolumeClaim.
type claim struct {
	APIVersion string         `json:"apiVersion,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Metadata   meta           `json:"metadata"`
	Spec       map[string]any `json:"spec"`
	Status     struct {
		Phase string `json:"phase"` // "Pending" until it has a volume
	} `json:"status,omitzero"`
}

// room returns the room on an object, "" = none of ours.
func (m meta) room() string {
	if m.Labels[labelOwner] != owner {
		return ""
	}
	return m.Annotations[annotationRoom]
}

// state is what podman would call it: see [sandbox.Info].
func (s sandboxObject) state() string {
	_, ready := is(s.Status.Conditions, "Ready")
	switch {
	case s.Spec.OperatingMode == suspended:
		return "exited"
	case ready:
		return "running"
	}
	return sandbox.Starting
}

// has reports whether the pod has a claim.
func (s sandboxObject) has(claim string) bool {
	all, _ := s.Spec.PodTemplate.Spec["volumes"].([]any)
	return slices.ContainsFunc(all, func(v any) bool {
		volume, _ := v.(map[string]any)
		of, _ := volume["persistentVolumeClaim"].(map[string]any)
		return of["claimName"] == claim
	})
}
