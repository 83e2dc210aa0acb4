package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/boxinit"
	"matrix-tui/sandbox/boxinit/relay"
)

// account is the service account of all pods. It has no rights; its tokens say in which pod they are.
const account = "matrix-tui-sandbox"

// audience is whom the tokens of pods are for.
const audience = "matrix-tui"

// relayMemory is the limit of a pod's relay, in MiB.
const relayMemory = 96

// object is a JSON object of a PodSpec.
type object = map[string]any

// template returns the pod of a room's sandbox, with its volumes: the claims at /workspace, and for the rest.
func (c *Config) template(spec sandbox.Spec, workspace, home string) podTemplate {
	const gateway, runs = "gateway", "runs"
	mount := func(volume, path, sub string, readOnly bool) object {
		m := object{"name": volume, "mountPath": path}
		if sub != "" {
			m["subPath"] = sub
		}
		if readOnly {
			m["readOnly"] = true
		}
		return m
	}
	// What a pod writes besides its volumes is on its node's disk. Beyond the limit, the kubelet ends the pod. Nodes
	// that do not count it take no pod that requests any.
	limits := object{"ephemeral-storage": c.Storage}
	requests := object{"cpu": "25m", "memory": "256Mi", "ephemeral-storage": "0"}
	if spec.Memory > 0 {
		limits["memory"] = fmt.Sprint(spec.Memory)
		requests["memory"] = fmt.Sprint(min(spec.Memory, 256<<20))
	}
	if spec.CPUs > 0 {
		limits["cpu"] = fmt.Sprintf("%dm", int64(spec.CPUs*1000))
		requests["cpu"] = fmt.Sprintf("%dm", min(int64(spec.CPUs*1000), 25))
	}
	relay := object{
		"name": "relay", "image": spec.Image, "imagePullPolicy": "IfNotPresent",
		"command": []string{boxinitPath, "relay"}, "restartPolicy": "Always",
		"env": []object{
			{"name": relay.RelayDoor, "value": c.Door},
			{"name": relay.RelayCertificate, "value": string(c.DoorCert)},
		},
		"volumeMounts": []object{mount(gateway, "/run/gateway", "", false), mount("token", "/run/door", "", true)},
		"resources": object{"requests": object{"cpu": "5m", "memory": "16Mi", "ephemeral-storage": "0"},
			"limits": object{"cpu": "1", "memory": fmt.Sprintf("%dMi", relayMemory), "ephemeral-storage": "64Mi"}},
		"securityContext": object{
			"runAsUser": 65532, "runAsGroup": 65532, "runAsNonRoot": true, "readOnlyRootFilesystem": true,
			"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}},
		},
	}
	// Programs of the agent are root in the container, with few capabilities, as with podman.
	room := object{
		"name": "sandbox", "image": spec.Image, "imagePullPolicy": "IfNotPresent",
		"command": []string{boxinitPath}, "workingDir": "/workspace",
		"env": []object{{"name": "HOME", "value": "/root"}, {"name": boxinit.PodEnv, "value": "1"}},
		"volumeMounts": []object{
			mount("workspace", "/workspace", "", false), mount("home", "/root", "root", false),
			mount("home", boxinit.Dir, runs, false), mount(gateway, "/run/gateway", "", true),
		},
		"resources": object{"requests": requests, "limits": limits},
		"securityContext": object{
			"runAsUser": 0, "runAsGroup": 0, "allowPrivilegeEscalation": false,
			"capabilities": object{"drop": []string{"ALL"}, "add": sandbox.Capabilities()},
		},
	}
	profile := object{"type": "RuntimeDefault"}
	if c.Seccomp != "" {
		profile = object{"type": "Localhost", "localhostProfile": c.Seccomp}
	}
	pod := object{
		"automountServiceAccountToken": false, "enableServiceLinks": false, "serviceAccountName": account,
		"restartPolicy": "Always", "terminationGracePeriodSeconds": 5, "hostname": "sandbox",
		// Names are resolved by the bot's gateway. A resolver that pods reach could carry data out.
		"dnsPolicy": "None", "dnsConfig": object{"nameservers": []string{"127.0.0.1"}},
		"securityContext": object{"seccompProfile": profile},
		// A node that is lost is noticed sooner than after the usual five minutes.
		"tolerations": []object{
			{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
			{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
		},
		"initContainers": []object{relay},
		"containers":     []object{room},
		"volumes": []object{
			{"name": "workspace", "persistentVolumeClaim": object{"claimName": workspace}},
			{"name": "home", "persistentVolumeClaim": object{"claimName": home}},
			{"name": gateway, "emptyDir": object{"medium": "Memory", "sizeLimit": "1Mi"}},
			{"name": "token", "projected": object{"defaultMode": 0o444, "sources": []object{
				{"serviceAccountToken": object{"path": "token", "audience": audience, "expirationSeconds": 3600}}}}},
		},
	}
	if c.UserNamespaces {
		pod["hostUsers"] = false
	}
	annotations := map[string]string{annotationRoom: spec.Room}
	if spec.Runtime == sandbox.GVisor {
		// Without these, its kernel keeps the gateway's socket from all containers but the one that made it. See
		// https://gvisor.dev/docs/user_guide/containerd/configuration, pod_annotations.
		for key, value := range map[string]string{"share": "pod", "type": "tmpfs", "options": "rw"} {
			annotations["dev.gvisor.spec.mount."+gateway+"."+key] = value
		}
	}
	if c.RuntimeClass != "" {
		pod["runtimeClassName"] = c.RuntimeClass
	}
	if c.PullSecret != "" {
		pod["imagePullSecrets"] = []object{{"name": c.PullSecret}}
	}
	return podTemplate{
		Metadata: meta{Labels: map[string]string{labelOwner: owner}, Annotations: annotations},
		Spec:     pod,
	}
}

// boxinitPath is where the sandbox image has boxinit.
const boxinitPath = "/usr/bin/boxinit"

// print changes with the template, and with the protocol that its boxinit speaks.
func (t podTemplate) print() string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // of strings and numbers
	}
	sum := sha256.Sum256(append(data, boxinit.OperationPath...))
	return hex.EncodeToString(sum[:8])
}

// nameOf returns the name of an object: those of Kubernetes have no capitals.
func nameOf(name string) string { return strings.ToLower(name) }
