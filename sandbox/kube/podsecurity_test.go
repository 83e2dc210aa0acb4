package kube

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"matrix-tui/sandbox"
)

// podSpec is what is read of a PodSpec.
type podSpec struct {
	ServiceAccountName                                          string
	AutomountServiceAccountToken, EnableServiceLinks, HostUsers *bool
	HostNetwork, HostPID, HostIPC                               bool
	SecurityContext                                             security
	InitContainers, Containers                                  []containerSpec
	Volumes                                                     []map[string]any
}

type containerSpec struct {
	Name            string
	SecurityContext security
	Ports           []struct {
		Name          string
		ContainerPort int
		HostPort      int
	}
	Resources struct{ Limits, Requests map[string]string }
}

type security struct {
	Privileged, AllowPrivilegeEscalation, RunAsNonRoot, ReadOnlyRootFilesystem *bool
	RunAsUser                                                                  *int
	ProcMount                                                                  string
	Sysctls                                                                    []any
	SELinuxOptions, AppArmorProfile, WindowsOptions                            any
	SeccompProfile                                                             struct{ Type string }
	Capabilities                                                               struct{ Add, Drop []string }
}

func podSpecOf(t *testing.T, value any) (spec podSpec) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &spec)
	}
	if err != nil || len(spec.Containers) == 0 {
		t.Fatalf("%s: %v", data, err)
	}
	return spec
}

// baseline is which capabilities the Pod Security Standard of that name lets a container add.
var baseline = strings.Fields("AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID " +
	"SETPCAP SETUID SYS_CHROOT")

// checkBaseline checks what the standard forbids, as far as our pods could have it.
func checkBaseline(t *testing.T, what string, spec podSpec) {
	t.Helper()
	if spec.HostNetwork || spec.HostPID || spec.HostIPC {
		t.Errorf("%s shares something with the node: %+v", what, spec)
	}
	for _, v := range spec.Volumes {
		if _, node := v["hostPath"]; node || len(v) != 2 {
			t.Errorf("%s has the volume %v", what, v)
		}
	}
	check := func(name string, s security) {
		if s.Privileged != nil && *s.Privileged || s.ProcMount != "" || len(s.Sysctls) > 0 || s.SELinuxOptions != nil ||
			s.AppArmorProfile != nil || s.WindowsOptions != nil {
			t.Errorf("%s, %s: %+v", what, name, s)
		}
		if profile := s.SeccompProfile.Type; !slices.Contains([]string{"", "RuntimeDefault", "Localhost"}, profile) {
			t.Errorf("%s, %s: seccomp profile %s", what, name, profile)
		}
		for _, capability := range s.Capabilities.Add {
			if !slices.Contains(baseline, capability) {
				t.Errorf("%s, %s: capability %s", what, name, capability)
			}
		}
	}
	check("all", spec.SecurityContext)
	if spec.SecurityContext.SeccompProfile.Type == "" {
		t.Errorf("%s has no seccomp profile", what)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		check(c.Name, c.SecurityContext)
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				t.Errorf("%s, %s: port %d of the node", what, c.Name, p.HostPort)
			}
		}
	}
}

// TestPodSecurity checks that the namespace admits rooms' pods.
func TestPodSecurity(t *testing.T) {
	labels := manifestsOf(t)["Namespace matrix-tui"].Metadata.Labels
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if level := labels["pod-security.kubernetes.io/"+mode]; level != "baseline" {
			t.Errorf("%s: %q", mode, level)
		}
	}
	for what, cfg := range map[string]Config{"a room's pod": {}, "one with all settings": {Seccomp: "matrix-tui.json",
		RuntimeClass: "gvisor", PullSecret: "registry", UserNamespaces: true}} {
		spec := podSpecOf(t, cfg.template(sandbox.Spec{Room: "!den:example.org", Memory: 2 << 30, CPUs: 2}, "w", "h").Spec)
		if len(spec.InitContainers) != 1 || len(spec.Volumes) != 4 ||
			!slices.Equal(spec.Containers[0].SecurityContext.Capabilities.Add, sandbox.Capabilities()) {
			t.Errorf("%s: %+v", what, spec)
		}
		checkBaseline(t, what, spec)
	}
}
