package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("rules: [{when: x}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"bad script":  {[]string{bad}, "bad.yaml: rule 1"},
		"no file":     {[]string{bad + ".none"}, "no such file"},
		"two files":   {[]string{bad, bad}, "one script at most"},
		"bad address": {[]string{"-listen", "nowhere"}, "listen"},
	} {
		if err := run(context.Background(), c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one that contains %q", name, err, c.want)
		}
	}
}
