package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClusterSettings(t *testing.T) {
	for _, c := range []struct {
		set   []string
		class string
		want  []string
	}{
		{[]string{"KUBE_DOOR=10.0.0.1:3129"}, "", nil},
		{[]string{"KUBE_DOOR=10.0.0.1:3129", "KUBE_RUNTIME_CLASS=kata"}, "kata", nil},
		{[]string{"KUBE_DOOR=10.0.0.1:3129", "SANDBOX_RUNTIME=runsc"}, "gvisor", nil},
		{[]string{"KUBE_DOOR=10.0.0.1:3129", "SANDBOX_RUNTIME=runsc", "KUBE_RUNTIME_CLASS=strong"}, "strong", nil},
		{[]string{"KUBE_DOOR=10.0.0.1:3129", "KUBE_RUNTIME_CLASS=gvisor"}, "", []string{"KUBE_RUNTIME_CLASS is gvisor but SANDBOX_RUNTIME is " +
			"not set, so the bot would refuse to run anything in rooms' pods; expected SANDBOX_RUNTIME=runsc"}},
		{nil, "", []string{"SANDBOX_ENGINE is kubernetes but KUBE_DOOR is not set, and there is no Service named matrix-tui-door; expected " +
			"the IP address and port at which pods reach the bot, such as 10.43.0.10:3129"}},
	} {
		cfg, err := load(t, append(c.set, "SANDBOX_ENGINE=kubernetes")...)
		var got []string
		if err != nil {
			got = problemsOf(t, err)
		} else if cfg.RuntimeClass() != c.class {
			t.Errorf("%q: the class is %q", c.set, cfg.RuntimeClass())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.set, diff)
		}
	}
}
