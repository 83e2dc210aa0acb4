package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	setting := func(k, v string) debug.BuildSetting { return debug.BuildSetting{Key: k, Value: v} }
	for _, tt := range []struct {
		info   *debug.BuildInfo
		commit string
		want   string
	}{
		{nil, "", "devel"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "abc", "v1.2.3"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "devel"},
		{&debug.BuildInfo{}, "0123456789abcdef", "devel+0123456789ab"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{setting("vcs.revision", "fedcba9876543210"), setting("vcs.modified", "true")}}, "", "devel+fedcba987654-modified"},
	} {
		if got := versionOf(tt.info, tt.commit); got != tt.want {
			t.Errorf("versionOf(%+v, %q) = %q, want %q", tt.info, tt.commit, got, tt.want)
		}
	}
}
