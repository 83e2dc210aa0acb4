package boxinit

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const container = "/kubelet/pods/01e1/containers/agent/5fb8"

// podMountinfo is that of a pod without user namespaces, on a node with containerd 1.7 and control groups of version 2.
const podMountinfo = `700 600 0:90 / / rw,relatime master:300 - overlay overlay rw,lowerdir=/x
701 700 0:91 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
702 700 0:92 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
703 702 0:93 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw
704 702 0:80 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw
705 700 0:85 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
706 705 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
707 700 8:1 /kubelet/pods/01e1/volumes/kubernetes.io~empty-dir/gateway /run/gateway ro,relatime - ext4 /dev/sda1 rw
708 700 8:1 /kubelet/pods/01e1/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
709 702 8:1 ` + container + ` /dev/termination-log rw,relatime - ext4 /dev/sda1 rw
710 700 8:1 /containerd/sandboxes/9af/hostname /etc/hostname rw,relatime - ext4 /dev/sda1 rw
711 700 8:1 /containerd/sandboxes/9af/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/sda1 rw
712 702 0:79 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
713 700 8:32 / /workspace rw,relatime - ext4 /dev/sdc rw
714 701 0:91 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
715 701 0:91 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
716 701 0:91 /sysrq-trigger /proc/sysrq-trigger ro,nosuid,nodev,noexec,relatime - proc proc rw
717 701 0:94 / /proc/acpi ro,relatime - tmpfs tmpfs ro
718 701 0:92 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
719 705 0:95 / /sys/firmware ro,relatime - tmpfs tmpfs ro
`

// inUserNamespace is what there is in addition with one.
const inUserNamespace = `720 702 0:6 /null /dev/null rw,nosuid,relatime - devtmpfs udev rw
721 702 0:6 /urandom /dev/urandom rw,nosuid,relatime - devtmpfs udev rw
722 701 0:6 /null /proc/keys rw,nosuid,relatime - devtmpfs udev rw
`

// strongPod is what the files of a pod's container contain that is as it must be.
var strongPod = map[string]string{
	"proc/self/status":         strong["proc/self/status"],
	"proc/self/cgroup":         "0::/\n",
	"proc/self/uid_map":        "0 0 4294967295\n",
	"proc/self/gid_map":        "0 0 4294967295\n",
	"proc/self/mountinfo":      podMountinfo,
	"proc/1/comm":              "boxinit\n",
	"proc/bus/x":               "",
	"proc/sysrq-trigger":       "",
	"sys/fs/cgroup/memory.max": "1048576\n",
	"etc/hosts":                "",
	"etc/hostname":             "",
	"etc/resolv.conf":          "",
	"dev/termination-log":      "",
}

func TestWeaknessesInPod(t *testing.T) {
	volumes := map[string][]string{"/workspace": nil, "/run/gateway": {"ro"}}
	full := Strength{Capabilities: 0xeb, Memory: 1048576, Mounts: volumes, Pod: &Pod{HostIDs: true}}
	mapped, inGVisor, without := full, full, full
	mapped.Pod, inGVisor.Runtime, without.Mounts = &Pod{}, GVisor, nil
	with := func(line string) map[string]string {
		return map[string]string{"proc/self/mountinfo": podMountinfo + line + "\n"}
	}
	replaced := func(old, new string) map[string]string {
		return map[string]string{"proc/self/mountinfo": strings.Replace(podMountinfo, old, new, 1)}
	}
	token := "run/secrets/kubernetes.io/serviceaccount/token"
	for name, c := range map[string]struct {
		is      Strength
		changed map[string]string
		want    []string
	}{
		"strong": {full, nil, nil},
		"no user namespace where there must be one": {mapped, nil, []string{`the uid_map is "0 0 4294967295"`, `the gid_map is "0 0 4294967295"`}},
		"a user namespace": {mapped, map[string]string{
			"proc/self/uid_map": "0 131072 65536\n", "proc/self/gid_map": "0 131072 65536\n", "proc/self/mountinfo": podMountinfo + inUserNamespace,
		}, nil},
		"no limit of memory":       {full, map[string]string{"sys/fs/cgroup/memory.max": "max\n"}, []string{"the memory limit of 1048576 bytes is not in force"}},
		"no seccomp profile":       {full, map[string]string{"proc/self/status": strings.Replace(strong["proc/self/status"], "Seccomp:\t2", "Seccomp:\t0", 1)}, []string{"no seccomp filter is active"}},
		"a token":                  {full, map[string]string{token: "x"}, []string{"there is a token of a service account, /" + token}},
		"a token elsewhere":        {full, map[string]string{"var/" + token: "x"}, []string{"there is a token of a service account, /var/" + token}},
		"the mount of a token":     {full, with("730 700 0:70 / /run/secrets/kubernetes.io/serviceaccount ro,relatime - tmpfs tmpfs rw"), []string{"there is a mount at /run/secrets/kubernetes.io/serviceaccount"}},
		"another token's":          {full, with("730 700 0:70 / /var/run/secrets/tokens ro,relatime - tmpfs tmpfs rw"), []string{"there is a mount at /var/run/secrets/tokens"}},
		"a folder of the node":     {full, with("730 700 8:1 / /host rw - ext4 /dev/sda1 rw"), []string{"there is a mount at /host"}},
		"one below a volume":       {full, with("730 713 8:1 / /workspace/host rw - ext4 /dev/sda1 rw"), []string{"there is a mount at /workspace/host"}},
		"the socket of a runtime":  {full, with("730 700 0:25 /containerd/containerd.sock /run/containerd/containerd.sock rw - tmpfs tmpfs rw"), []string{"there is a mount at /run/containerd/containerd.sock"}},
		"the node's /run in /dev":  {full, with("730 702 0:25 / /dev/run rw - tmpfs tmpfs rw"), []string{"there is a mount at /dev/run"}},
		"the node's devices":       {full, replaced("/dev rw,nosuid - tmpfs tmpfs", "/dev rw,nosuid - devtmpfs udev"), []string{"there is a mount at /dev"}},
		"a device of the node":     {full, with("730 702 0:6 /sda /dev/null rw - devtmpfs udev rw"), []string{"there is a mount at /dev/null"}},
		"the node's /run in /proc": {full, replaced("0:92 /null /proc/kcore", "0:25 / /proc/kcore"), []string{"there is a mount at /proc/kcore"}},
		"another control group":    {full, with("730 706 0:30 / /sys/fs/cgroup/x rw - tmpfs tmpfs rw"), []string{"there is a mount at /sys/fs/cgroup/x"}},
		"control groups of version 1": {full, replaced("/sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw", `/sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw
720 706 0:31 /kubepods/x /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory
721 706 0:36 /kubepods/x /sys/fs/cgroup/systemd ro,nosuid - cgroup cgroup rw,name=systemd`), nil},
		"writable control groups":    {full, replaced("/sys/fs/cgroup ro", "/sys/fs/cgroup rw"), []string{"the mount at /sys/fs/cgroup is not ro"}},
		"a file system of debugging": {full, with("730 705 0:7 / /sys/kernel/debug rw - debugfs debugfs rw"), []string{"there is a mount at /sys/kernel/debug"}},
		"writable /sys":              {full, replaced("/sys ro", "/sys rw"), []string{"the mount at /sys is not ro"}},
		"writable /proc/sys":         {full, replaced("/proc/sys ro", "/proc/sys rw"), []string{"the mount at /proc/sys is not ro"}},
		"writable /proc/bus":         {full, replaced("/proc/bus ro", "/proc/bus rw"), []string{"the mount at /proc/bus is not ro"}},
		"/proc that is not masked": {full, replaced(podMountinfo[strings.Index(podMountinfo, "714 "):], ""), []string{
			"/proc/bus is not read-only", "/proc/sysrq-trigger is not read-only", "the kernel's settings in /proc/sys are not read-only",
		}},
		"no volume":           {full, replaced("/workspace", "/elsewhere"), []string{"there is a mount at /elsewhere", "there is no mount at /workspace"}},
		"a writable gateway":  {full, replaced("/run/gateway ro", "/run/gateway rw"), []string{"the mount at /run/gateway is not ro"}},
		"any mount":           {without, nil, []string{"there is a mount at /run/gateway", "there is a mount at /workspace"}},
		"podman's own mounts": {full, with("730 700 8:1 /x /run/.containerenv rw - ext4 /dev/sda1 rw"), []string{"there is a mount at /run/.containerenv"}},
		"shared processes":    {full, map[string]string{"proc/1/comm": "pause\n"}, []string{"PID 1 is not boxinit: the container shares its processes"}},
		"gVisor": {inGVisor, map[string]string{"proc/self/mountinfo": "16 15 0:18 / / rw - 9p none rw\n18 16 0:19 / /dev rw,nosuid - dev none rw\n" +
			"17 18 0:19 / /dev/termination-log rw - 9p none rw\n24 16 0:25 / /etc/hosts rw - 9p none rw\n25 16 0:26 / /workspace rw - 9p none rw\n" +
			"23 16 0:24 / /run/gateway ro - tmpfs none ro\n26 16 0:27 / /tmp rw - tmpfs none rw\n27 18 0:28 / /dev/shm rw - tmpfs none rw\n" +
			"28 16 0:29 / /proc rw - proc none rw\n29 16 0:30 / /sys ro - sysfs none ro\n"}, nil},
		"gVisor, with folders of the node": {inGVisor, map[string]string{"proc/self/mountinfo": "16 15 0:18 / / rw - 9p none rw\n25 16 0:26 / /workspace rw - 9p none rw\n" +
			"23 16 0:24 / /run/gateway ro - tmpfs none ro\n33 16 0:32 / /mnt rw - 9p none rw\n34 16 0:33 / /tmp rw - 9p none rw\n" +
			"35 16 0:34 / /dev/x rw - 9p none rw\n36 16 0:35 / /sys/x rw - 9p none rw\n", "etc/hosts": ""}, []string{"there is a mount at /dev/x",
			"there is a mount at /mnt", "there is a mount at /sys/x", "there is a mount at /tmp"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := filesOf(t, strongPod, c.changed)
			if diff := cmp.Diff(c.want, c.is.inFiles(root)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, point := range podFiles {
		root := filesOf(t, strongPod)
		if err := os.Remove(root + point); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(root+point, 0o755); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"there is a mount at " + point}, full.inFiles(root)); diff != "" {
			t.Errorf("a folder of the node: %s", diff)
		}
	}
}

// filesOf makes files below a folder, the later ones instead of the earlier.
func filesOf(t *testing.T, all ...map[string]string) (root string) {
	t.Helper()
	root = t.TempDir() + "/"
	for _, files := range all {
		for path, text := range files {
			if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// What bots of podman write stays as it was: an older boxinit refuses what it does not know.
func TestStrengthOfPodman(t *testing.T) {
	const text = `{"Runtime":"","Mark":2000,"Capabilities":235,"FirstID":1879048192,"IDs":65536,"Memory":1048576,"PIDs":100,` +
		`"CPU":150,"Files":4096,"Mounts":{"/boxinit":["ro"],"/workspace":null}}`
	want := Strength{Mark: 2000, Capabilities: 235, FirstID: 1879048192, IDs: 65536, Memory: 1048576, PIDs: 100, CPU: 150, Files: 4096,
		Mounts: map[string][]string{"/boxinit": {"ro"}, "/workspace": nil}}
	var got Strength
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if data, err := json.Marshal(want); err != nil || string(data) != text {
		t.Errorf("%s, %v", data, err)
	}
}

// What a newer bot demands, and this boxinit cannot verify, is refused.
func TestUnknownStrength(t *testing.T) {
	noServer(t)
	n := network{always: []string{}}
	for text, known := range map[string]bool{
		`{}`:                                 true,
		`{"Pod":null}`:                       true,
		`{"Pod":{}}`:                         true,
		`{"Pod":{"Closed":["127.0.0.1:x"]}}`: true,
		`{"New":1}`:                          false,
		`{"Pod":{"New":1}}`:                  false,
		`{"Pod":{"Closed":"127.0.0.1:1"}}`:   false,
		`{"Pod":[]}`:                         false,
		``:                                   false,
	} {
		if _, err := weaknesses(text, &n); (err == nil) != known {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Nothing runs in a pod whose network is open, and the interface of a pod is no weakness by itself.
func TestOpenNetworkRunsNothing(t *testing.T) {
	noServer(t)
	s := testStore(t)
	open, always := listens(t), listens(t)
	strength, err := json.Marshal(Strength{Pod: &Pod{Closed: []string{open}, HostIDs: true, AnySeccomp: true}})
	if err != nil {
		t.Fatal(err)
	}
	spec := RunSpec{ID: "r", Dir: "/", Argv: []string{"true"}}
	for name, r := range map[string]Request{
		"run":  {Op: OpRun, Run: &spec},
		"park": {Op: OpPark, Park: &Parking{Run: RunSpec{Dir: "/", Argv: []string{"true"}}}},
	} {
		r.Strength = string(strength)
		p := Program{Dir: s.dir, Self: []string{"/proc/self/exe"}, network: network{always: []string{always}}}
		reply := requestOf(t, &p, r).reply()
		for _, address := range []string{open, always} {
			if want := "the network is open: " + address + " answers"; !strings.Contains(reply.Weak, want) {
				t.Errorf("%s: %q, want also: %s", name, reply.Weak, want)
			}
		}
		if strings.Contains(reply.Weak, "network interface") || strings.Contains(reply.Weak, "not the bot's") {
			t.Errorf("%s: %q", name, reply.Weak)
		}
	}
	if status, err := s.status("r"); err != nil || status.State != RunNone {
		t.Errorf("%+v, %v", status, err)
	}
}

// In a container of podman, an interface is a weakness.
func TestInterfaces(t *testing.T) {
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	want := false
	for _, i := range list {
		want = want || i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0
	}
	weak, err := weaknesses(`{}`, nil)
	if err != nil || strings.Contains(weak, "there is a network interface") != want {
		t.Errorf("%q, %v, want an interface: %v", weak, err, want)
	}
}
