package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	rspec "github.com/opencontainers/runtime-spec/specs-go"
	"go.podman.io/common/pkg/seccomp"
)

// What a program in a container gets for calls that the profile must refuse, and for others.
func TestProfileInContainer(t *testing.T) {
	const done, forbidden, noFamily, noCall = "done", "operation not permitted", "address family not supported by protocol", "function not implemented"
	attacks := [][2]string{
		{"alg", noFamily}, {"vsock", noFamily}, {"packet", noFamily}, {"high-alg", noFamily}, {"x25", noCall}, {"alg-pair", noCall},
		{"audit", "invalid argument"}, {"netlink", done},
		{"unshare", forbidden}, {"clone", forbidden}, {"clone-nested", forbidden}, {"clone3", noCall},
		{"keyctl", noCall}, {"add-key", noCall},
		{"io-uring", noCall},
		{"attach", forbidden}, {"seize", forbidden}, {"read-memory", forbidden}, {"trace", done},
		{"bpf", forbidden}, {"userfaultfd", forbidden},
		{"mount", forbidden}, {"open-tree", forbidden},
		{"personality", noCall}, {"linux32", done}, {"unknown", noCall},
	}
	var script, want strings.Builder
	for _, a := range attacks {
		fmt.Fprintf(&script, "echo %s $(attack %[1]s 2>&1 | sed 's/.*: //')\n", a[0])
		fmt.Fprintf(&want, "%s %s\n", a[0], a[1])
	}
	script.WriteString("program32 2>/dev/null; [ $? != 42 ] && echo no 32 bits")
	want.WriteString("no 32 bits")
	if got := sh(t, testContainer(t), script.String()); got != want.String() {
		t.Errorf("got:\n%s\nwant:\n%s", got, want.String())
	}
}

// program32 is a program for 32-bit x86 that exits with code 42.
func program32() []byte {
	const base, header = 0x8048000, 52 + 32                         // of an ELF file and its only segment
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80} // mov eax, exit; mov ebx, 42; int 0x80
	size := uint32(header + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01" + strings.Repeat("\x00", 9))
	binary.Write(&b, binary.LittleEndian, []uint16{2, 3}) // executable, 386
	binary.Write(&b, binary.LittleEndian, []uint32{1, base + header, 52, 0, 0})
	binary.Write(&b, binary.LittleEndian, []uint16{52, 32, 1, 0, 0, 0})
	binary.Write(&b, binary.LittleEndian, []uint32{1, 0, base, base, size, size, 5, 0x1000})
	b.Write(code)
	return b.Bytes()
}

// The profile allows nothing that podman's default refuses a container with the same capabilities.
func TestProfileAgainstDefault(t *testing.T) {
	var ours rspec.LinuxSeccomp
	if err := json.Unmarshal(theProfile().data, &ours); err != nil {
		t.Fatal(err)
	}
	theirs, err := json.Marshal(seccomp.DefaultProfile())
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		DefaultAction rspec.LinuxSeccompAction `json:"defaultAction"`
		Syscalls      []struct {
			rspec.LinuxSyscall
			Includes, Excludes struct{ Caps, Arches []string }
		} `json:"syscalls"`
	}
	if err := json.Unmarshal(theirs, &all); err != nil {
		t.Fatal(err)
	}
	has := func(capability string) bool {
		return slices.Contains(capabilities, strings.TrimPrefix(capability, "CAP_"))
	}
	lacks := func(capability string) bool { return !has(capability) }
	byDefault := rspec.LinuxSeccomp{DefaultAction: all.DefaultAction}
	for _, s := range all.Syscalls {
		here := len(s.Includes.Arches) == 0 || slices.Contains(s.Includes.Arches, "amd64")
		if here && !slices.ContainsFunc(s.Includes.Caps, lacks) && !slices.ContainsFunc(s.Excludes.Caps, has) {
			byDefault.Syscalls = append(byDefault.Syscalls, s.LinuxSyscall)
		}
	}
	compared, less := 0, map[string]bool{}
	for _, name := range names(ours, byDefault) {
		for _, args := range samples(name, ours, byDefault) {
			compared++
			mine, podmans := allows(t, ours, name, args), allows(t, byDefault, name, args)
			if mine && !podmans {
				t.Errorf("%s%x is allowed, but not by default", name, args)
			}
			if podmans && !mine {
				less[name] = true
			}
		}
	}
	if compared < 1000 || len(less) < 20 {
		t.Errorf("only %d calls compared, and only %d refused that the default allows", compared, len(less))
	}
}

// names returns all calls in the rules of the profiles.
func names(profiles ...rspec.LinuxSeccomp) (list []string) {
	for _, p := range profiles {
		for _, rule := range p.Syscalls {
			list = append(list, rule.Names...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// samples returns arguments for a call: all values near those in its rules, each bit and each small number.
func samples(name string, profiles ...rspec.LinuxSeccomp) (list [][6]uint64) {
	values := map[uint][]uint64{}
	for _, p := range profiles {
		for _, rule := range p.Syscalls {
			if !slices.Contains(rule.Names, name) {
				continue
			}
			for _, a := range rule.Args {
				for _, v := range []uint64{a.Value, a.ValueTwo, ^a.Value} {
					values[a.Index] = append(values[a.Index], v-1, v, v+1, v|1<<32, v|1<<63)
				}
			}
		}
	}
	for i := range values {
		for v := range uint64(64) {
			values[i] = append(values[i], v, 1<<v, ^uint64(1<<v))
		}
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
	}
	list = [][6]uint64{{}}
	for i, some := range values {
		var next [][6]uint64
		for _, args := range list {
			for _, v := range some {
				args[i] = v
				next = append(next, args)
			}
		}
		list = next
	}
	return list
}

// allows reports whether all rules of a profile that are about a call allow it.
func allows(t *testing.T, p rspec.LinuxSeccomp, name string, args [6]uint64) bool {
	t.Helper()
	actions := map[rspec.LinuxSeccompAction]bool{}
	for _, rule := range p.Syscalls {
		if slices.Contains(rule.Names, name) && !slices.ContainsFunc(rule.Args, func(a rspec.LinuxSeccompArg) bool { return !holds(t, a, args[a.Index]) }) {
			actions[rule.Action] = true
		}
	}
	return actions[rspec.ActAllow] && len(actions) == 1 || len(actions) == 0 && p.DefaultAction == rspec.ActAllow
}

func holds(t *testing.T, a rspec.LinuxSeccompArg, v uint64) bool {
	t.Helper()
	switch a.Op {
	case rspec.OpEqualTo:
		return v == a.Value
	case rspec.OpNotEqual:
		return v != a.Value
	case rspec.OpLessThan:
		return v < a.Value
	case rspec.OpGreaterThan:
		return v > a.Value
	case rspec.OpMaskedEqual:
		return v&a.Value == a.ValueTwo
	}
	t.Fatalf("operator %s", a.Op)
	return false
}
