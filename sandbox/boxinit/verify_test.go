package boxinit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strong is what the files of a container contain that is as it must be.
var strong = map[string]string{
	"proc/self/status":         "Name:\tx: y\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\nCapInh:\t0000000000000000\nCapPrm:\t00000000000000eb\nCapEff:\t0000000000000001\nCapBnd:\t00000000000000eb\nCapAmb:\t0000000000000000\n",
	"proc/self/cgroup":         "0::/\n",
	"proc/self/uid_map":        "         0 1879048192      65536\n",
	"proc/self/gid_map":        "         0 1879048192      65536\n",
	"sys/fs/cgroup/memory.max": "1048576\n",
	"sys/fs/cgroup/pids.max":   "100\n",
}

func TestWeaknessesInFiles(t *testing.T) {
	full := Strength{Capabilities: 0xeb, FirstID: 1879048192, IDs: 65536, Memory: 1048577, PIDs: 100}
	rootless := Strength{Capabilities: 0xeb}
	for name, c := range map[string]struct {
		is      Strength
		changed map[string]string
		want    []string
	}{
		"strong": {full, nil, nil},
		"no seccomp": {full, map[string]string{"proc/self/status": "NoNewPrivs:\t0\nSeccomp:\t0\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t100\nCapBnd:\t0\nCapAmb:\t0\n"}, []string{
			"no seccomp filter is active",
			"programs can gain privileges (no_new_privs is not set)",
			`the capabilities CapEff are "100", not within 00000000000000eb`,
		}},
		"the host's IDs":    {full, map[string]string{"proc/self/uid_map": "0 0 4294967295\n"}, []string{`the uid_map is "0 0 4294967295"`}},
		"another room's":    {full, map[string]string{"proc/self/gid_map": "0 1879113728 65536\n"}, []string{`the gid_map is "0 1879113728 65536"`}},
		"more IDs":          {full, map[string]string{"proc/self/uid_map": "0 1879048192 65536\n65536 0 1\n"}, []string{`the uid_map is "0 1879048192 65536 65536 0 1"`}},
		"rootless":          {rootless, map[string]string{"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"}, nil},
		"rootless, as root": {rootless, map[string]string{"proc/self/uid_map": "0 0 1\n1 100000 65536\n"}, []string{`the uid_map is "0 0 1 1 100000 65536"`}},
		"no limits": {full, map[string]string{"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": "101\n"}, []string{
			"the memory limit of 1048577 bytes is not in force", "the limit of 100 processes is not in force",
		}},
		"no limits wanted": {Strength{Capabilities: 0xeb, FirstID: 1879048192, IDs: 65536}, map[string]string{"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": ""}, nil},
		"limits of version 1": {full, map[string]string{
			"sys/fs/cgroup/memory.max": "", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
			"sys/fs/cgroup/pids.max": "", "sys/fs/cgroup/pids/pids.max": "max\n",
		}, []string{"the limit of 100 processes is not in force"}},
		"limits of a cgroup above": {full, map[string]string{"proc/self/cgroup": "1:name=systemd:/\n0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, nil},
		"limits of a cgroup below": {full, map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": "max\n",
			"sys/fs/cgroup/a/b/memory.max": "1048576\n", "sys/fs/cgroup/a/pids.max": "100\n",
		}, nil},
		"gVisor, whose files are not the host's": {Strength{Runtime: GVisor, Capabilities: 0xeb, FirstID: 1879048192, IDs: 65536, PIDs: 100}, map[string]string{
			"proc/self/status":  "NoNewPrivs:\t0\nSeccomp:\t0\nCapInh:\t0\nCapPrm:\t100\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\n",
			"proc/self/uid_map": "0 0 4294967295\n", "sys/fs/cgroup/pids.max": "max\n",
		}, []string{"programs can gain privileges (no_new_privs is not set)", `the capabilities CapPrm are "100", not within 00000000000000eb`}},
		"gVisor of 2024, without ambient capabilities": {Strength{Runtime: GVisor, Capabilities: 0xeb}, map[string]string{
			"proc/self/status": "NoNewPrivs:\t1\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\teb\nSeccomp:\t0\n",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir() + "/"
			for _, files := range []map[string]string{strong, c.changed} {
				for path, text := range files {
					if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(c.want, c.is.inFiles(root)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := full.inFiles(t.TempDir() + "/"); len(got) != 11 {
		t.Errorf("without any file: %d weaknesses: %q", len(got), got)
	}
}

// The kernel of this host is no runtime's.
func TestKernel(t *testing.T) {
	root := t.TempDir() + "/"
	for runtime, want := range map[string]string{GVisor: "the kernel is not gVisor's", Krun: "the kernel is not libkrun's", "kata": `the runtime "kata" is unknown`} {
		if got := (Strength{Runtime: runtime}).kernel("/"); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", runtime, got)
		}
	}
	if err := os.MkdirAll(root+"proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"proc/cmdline", []byte("reboot=k init=/init.krun quiet\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := (Strength{Runtime: Krun}).kernel(root); len(got) != 0 {
		t.Errorf("krun: %q", got)
	}
}
