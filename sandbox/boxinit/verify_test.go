package boxinit

import (
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
	"sys/fs/cgroup/cpu.max":    "150000 100000\n",
	"proc/self/mountinfo":      ordinaryMounts + "9 1 8:1 /v /workspace rw - ext4 /dev/sda rw\n9 1 8:1 /b /boxinit ro,nosuid,nodev,relatime shared:1 - ext4 /dev/sda rw\n",
}

const ordinaryMounts = `1 0 0:1 / / rw - overlay overlay rw
2 1 0:2 / /proc rw,nosuid - proc proc rw
3 2 0:2 /sys /proc/sys ro,nosuid - proc proc rw
4 1 0:3 / /dev rw - tmpfs tmpfs rw
5 4 0:4 /null /dev/null rw - devtmpfs udev rw
6 1 0:5 / /sys ro - sysfs sysfs ro
7 6 0:6 / /sys/fs/cgroup ro - cgroup2 cgroup rw
8 1 8:1 /x/hosts /etc/hosts rw - ext4 /dev/sda rw
`

func TestWeaknessesInFiles(t *testing.T) {
	full := Strength{Capabilities: 0xeb, FirstID: 1879048192, IDs: 65536, Memory: 1048577, PIDs: 100, CPU: 150,
		Mounts: map[string][]string{"/workspace": nil, "/boxinit": {"ro", "nosuid", "nodev"}}}
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
		"no limits": {full, map[string]string{"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/pids.max": "101\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, []string{
			"the memory limit of 1048577 bytes is not in force", "the limit of 100 processes is not in force", "the limit of 150 % of a processor is not in force",
		}},
		"a shorter period":        {full, map[string]string{"sys/fs/cgroup/cpu.max": "76000 50000\n"}, []string{"the limit of 150 % of a processor is not in force"}},
		"a quota between percent": {full, map[string]string{"sys/fs/cgroup/cpu.max": "149999 100000\n"}, nil},
		"processors, version 1":   {full, map[string]string{"sys/fs/cgroup/cpu.max": "", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, nil},
		"no quota, version 1": {full, map[string]string{"sys/fs/cgroup/cpu.max": "", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, []string{
			"the limit of 150 % of a processor is not in force",
		}},
		"other mounts": {full, map[string]string{"proc/self/mountinfo": "1 0 0:1 / / rw - overlay overlay rw\n3 2 0:2 /sys /proc/sys rw - proc proc rw\n" +
			"4 1 8:1 / /mnt rw - ext4 /dev/sda rw\n5 1 8:1 / /dev/disk ro - ext4 /dev/sda rw\n7 6 0:6 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n9 1 8:1 /b /boxinit rw,nosuid - ext4 /dev/sda ro\n"}, []string{
			"the mount at /boxinit is not nodev", "the mount at /boxinit is not ro", "the mount at /proc/sys is not ro", "the mount at /sys/fs/cgroup is not ro",
			"there is a mount at /dev/disk", "there is a mount at /mnt", "there is no mount at /workspace",
		}},
		"odd mounts": {full, map[string]string{"proc/self/mountinfo": "1 0\n"}, []string{`the list of mounts has the line "1 0"`}},
		"mounts of a container that an earlier version created": {Strength{Capabilities: 0xeb}, map[string]string{"proc/self/mountinfo": "4 1 8:1 / /mnt rw - ext4 /dev/sda rw\n"}, nil},
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
		"gVisor's mounts": {Strength{Runtime: GVisor, Capabilities: 0xeb, Mounts: full.Mounts}, map[string]string{
			"proc/self/mountinfo": "16 15 0:18 / / rw - 9p none rw\n18 16 0:19 / /dev rw,nosuid - dev none rw\n24 18 0:25 / /dev/shm rw,nosuid - 9p none rw\n" +
				"25 16 0:26 / /workspace rw - 9p none rw\n32 16 0:32 / /tmp rw - tmpfs none rw\n23 16 0:24 / /boxinit ro - 9p none ro\n33 16 0:32 / /mnt rw - 9p none rw\n",
		}, []string{"there is a mount at /mnt"}},
		"gVisor's mounts, writable": {Strength{Runtime: GVisor, Capabilities: 0xeb, Mounts: full.Mounts}, map[string]string{
			"proc/self/mountinfo": "16 15 0:18 / / rw - 9p none rw\n25 16 0:26 / /workspace rw - 9p none rw\n23 16 0:24 / /boxinit rw - 9p none ro\n",
		}, []string{"the mount at /boxinit is not ro"}},
		"a time zone, and hidden folders": {full, map[string]string{"proc/self/mountinfo": strong["proc/self/mountinfo"] +
			"20 1 8:1 /zone /usr/share/zoneinfo/Etc/UTC rw - ext4 /dev/sda rw\n21 2 0:30 /crun/.empty-directory /proc/acpi ro - overlay overlay rw\n" +
			"22 2 0:30 /crun/.empty-directory /proc/scsi rw - overlay overlay rw\n23 1 0:30 /x/.empty-directory /mnt ro - overlay overlay rw\n"}, []string{
			"there is a mount at /mnt", "there is a mount at /proc/scsi",
		}},
		"gVisor of 2024, without ambient capabilities": {Strength{Runtime: GVisor, Capabilities: 0xeb}, map[string]string{
			"proc/self/status": "NoNewPrivs:\t1\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\teb\nSeccomp:\t0\n",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := filesOf(t, strong, c.changed)
			if diff := cmp.Diff(c.want, c.is.inFiles(root)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := full.inFiles(t.TempDir() + "/"); len(got) != 13 {
		t.Errorf("without any file: %d weaknesses: %q", len(got), got)
	}
}

// The kernel of this host is no runtime's.
func TestKernel(t *testing.T) {
	for runtime, want := range map[string]string{GVisor: "the kernel is not gVisor's", "kata": `the runtime "kata" is unknown`} {
		if got := (Strength{Runtime: runtime}).kernel(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", runtime, got)
		}
	}
}
