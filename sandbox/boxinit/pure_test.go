package boxinit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const statLine = "%d (%s) %s %d 1 %d 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 %d 0 %d 1 5 18446744073709551615 1 1"

func TestParseStat(t *testing.T) {
	unexported := cmp.AllowUnexported(process{})
	for _, c := range []struct {
		line string
		want process
	}{
		{fmt.Sprintf(statLine, 12, "sh", "S", 1, 12, 1, 99), process{12, 1, 12, 99, 7, 5, false, false}},
		{fmt.Sprintf(statLine, 12, "a) S 9 (b", "R", 1, 12, 1, 99), process{12, 1, 12, 99, 7, 5, false, false}},
		{fmt.Sprintf(statLine, 12, "gone", "Z", 1, 12, 1, 99), process{12, 1, 12, 99, 7, 5, true, false}},
		{fmt.Sprintf(statLine, 12, "stopped", "T", 1, 12, 1, 99), process{12, 1, 12, 99, 7, 5, false, true}},
		{fmt.Sprintf(statLine, 12, "threads go on", "Z", 1, 12, 3, 99), process{12, 1, 12, 99, 7, 5, false, false}},
	} {
		got, err := parseStat(c.line)
		if diff := cmp.Diff(c.want, got, unexported); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.line, err, diff)
		}
	}
	for _, bad := range []string{"", "1 sh S", "1 (sh) S", ") (", "x (sh) S 1 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 9 1"} {
		if p, err := parseStat(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	if p, err := processOf(os.Getpid()); err != nil || p.pid != os.Getpid() || p.parent != os.Getppid() || p.dead || p.ticks == 0 {
		t.Errorf("this process: %+v, %v", p, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(fmt.Sprintf(statLine, 12, "sh", "S", 1, 12, 1, 99))
	f.Add("1 () Z")
	f.Fuzz(func(t *testing.T, line string) { parseStat(line) })
}

func TestBelonging(t *testing.T) {
	p := func(pid, parent, session int, ticks uint64) process {
		return process{pid: pid, parent: parent, session: session, ticks: ticks}
	}
	init := p(1, 0, 1, 1)
	sup := p(10, 1, 10, 100)
	record := supervisorRecord{PID: 10, Ticks: 100}
	marks := map[int]string{11: "r", 12: "r", 50: "other", 60: "r"}
	for name, c := range map[string]struct {
		all  []process
		want []int
	}{
		"nothing":             {[]process{init}, nil},
		"supervisor alone":    {[]process{init, sup}, nil},
		"tree":                {[]process{init, sup, p(11, 10, 11, 101), p(20, 11, 11, 102), p(30, 20, 30, 103)}, []int{11, 20, 30}},
		"zombie":              {[]process{init, sup, {pid: 11, parent: 10, session: 11, ticks: 101, dead: true}}, nil},
		"orphan of the run":   {[]process{init, sup, p(21, 10, 21, 103)}, []int{21}},
		"others":              {[]process{init, sup, p(11, 10, 11, 101), p(50, 1, 50, 150), p(51, 50, 50, 151)}, []int{11}},
		"marked, not ours":    {[]process{init, sup, p(60, 50, 50, 150)}, nil}, // with a supervisor, descent decides
		"without supervisor":  {[]process{init, p(11, 1, 11, 101), p(22, 1, 11, 105), p(23, 22, 23, 106), p(50, 1, 50, 150)}, []int{11, 22, 23}},
		"older session mates": {[]process{init, p(11, 1, 5, 101), p(5, 1, 5, 50)}, []int{11}},
		"older with the mark": {[]process{init, p(12, 1, 12, 99)}, nil},
		"PID used again":      {[]process{init, p(10, 1, 10, 500), p(70, 10, 10, 501), p(11, 1, 11, 101)}, []int{11}},
		"PID 1 in session 0":  {[]process{p(1, 0, 0, 1), p(11, 1, 0, 101), p(80, 1, 0, 102)}, []int{11}},
	} {
		var got []int
		for _, q := range belonging(c.all, record, "r", func(pid int) string { return marks[pid] }) {
			got = append(got, q.pid)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOutput(t *testing.T) {
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "line %06d\n", i) // 12 bytes
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		in, want string
		bound    int64
	}{
		"within":   {"hello", "hello", 5},
		"nothing":  {"", "", 5},
		"beyond":   {"hello\nworld\nend\n", "hello\n{\"type\":\"truncated\",\"dropped\":6}\nend\n", 6},
		"mid-line": {"hello\nworld", "hel\n{\"type\":\"truncated\",\"dropped\":3}\nworld", 3},
		"one line": {"hello world", "hello\n{\"type\":\"truncated\",\"dropped\":0}\n world", 5},
		"long":     {lines(0, 100_000), lines(0, 10) + "{\"type\":\"truncated\",\"dropped\":937740}\n" + lines(78155, 100_000), 120},
	} {
		for _, piece := range []int{1 << 20, 1000, 7} {
			var file bytes.Buffer
			o := newOutput(&file, c.bound)
			for chunk := range slices.Chunk([]byte(c.in), piece) {
				if n, err := o.Write(chunk); n != len(chunk) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := o.finish(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, file.String()); diff != "" {
				t.Errorf("%s in pieces of %d: %.500s", name, piece, diff)
			}
			if cap(o.last) > 4*lastKept+piece {
				t.Errorf("%s: %d bytes of memory", name, cap(o.last))
			}
		}
	}
}

// A full disk ends the recording, not the run.
func TestOutputFull(t *testing.T) {
	o := newOutput(full{}, 100)
	for range 10 {
		if n, err := o.Write([]byte("hello\n")); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	if string(o.last) != strings.Repeat("hello\n", 10) {
		t.Errorf("%q", o.last)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestValidTail(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"hello", 10, "hello"},
		{"hello", 3, "llo"},
		{"aé", 1, ""},
		{"xéé", 3, "é"},
		{"a\x00b\xff", 10, "ab\uFFFD"},
		{"", 3, ""},
		{"\xff\xfe\xfd", 3, "\uFFFD"},
	} {
		if got := validTail([]byte(c.in), c.n); got != c.want {
			t.Errorf("%q, %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzValidTail(f *testing.F) {
	f.Add([]byte("aé\xff"), 2)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		if got := validTail(in, n); len(got) > n || !utf8.ValidString(got) {
			t.Errorf("%q, %d: %q", in, n, got)
		}
	})
}

func TestParseOOM(t *testing.T) {
	for text, want := range map[string]int64{
		"low 0\nhigh 0\nmax 4\noom 2\noom_kill 3\noom_group_kill 0\n": 3,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 7\n":               7,
		"oom_kill x\n": 0,
		"":             0,
	} {
		if got := parseOOM(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestCheckID(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "A-b_9": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "..": false, "a/b": false, "a\n": false, "é": false,
	} {
		if err := CheckID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
