package kube

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/boxinit"
)

// What runs under gVisor is started and verified as such. Nothing else is.
func TestRuntimeClass(t *testing.T) {
	shared := map[string]string{annotationRoom: denRoom, "dev.gvisor.spec.mount.gateway.share": "pod",
		"dev.gvisor.spec.mount.gateway.type": "tmpfs", "dev.gvisor.spec.mount.gateway.options": "rw"}
	for _, c := range []struct {
		runtime, class string
		memory         int64
		want           any // the pod's class
		annotations    map[string]string
		verified       int64 // memory
	}{
		{"", "", 2 << 30, nil, map[string]string{annotationRoom: denRoom}, 2 << 30},
		{"", "kata", 2 << 30, "kata", map[string]string{annotationRoom: denRoom}, 2 << 30},
		{"runsc", "gvisor", 2 << 30, "gvisor", shared, 2<<30 + 352<<20},
		{"runsc", "strong", 0, "strong", shared, 0},
	} {
		cfg := Config{RuntimeClass: c.class}
		spec := sandbox.Spec{Room: denRoom, Runtime: c.runtime, Memory: c.memory}
		pod := cfg.template(spec, "w", "h")
		if got := pod.Spec["runtimeClassName"]; got != c.want {
			t.Errorf("%+v: the class is %v", c, got)
		}
		if diff := cmp.Diff(c.annotations, pod.Metadata.Annotations); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
		var strength boxinit.Strength
		if err := json.Unmarshal([]byte(cfg.strength(spec)), &strength); err != nil {
			t.Fatal(err)
		}
		if strength.Runtime != c.runtime || strength.Memory != c.verified {
			t.Errorf("%+v: %+v", c, strength)
		}
	}
}
