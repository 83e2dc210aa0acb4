package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	all := []tests{
		{dir: "./a", names: []string{"TestOne", "TestRestart"}},
		{dir: "./b", names: []string{"TestConversations", "TestRestart"}, scripts: map[string]string{
			"first": "TestConversations", "ask": "TestConversations", "ask-again": "TestConversations", "install": "TestMachines", "liar": "TestDrills"}},
	}
	for _, tt := range []struct{ name, run, dirs, err string }{
		{"first", "^TestConversations$/^first(-in-encrypted-rooms|-on-synapse)?$", "./b", ""},
		{"ask", "^TestConversations$/^ask(-in-encrypted-rooms|-on-synapse)?$", "./b", ""},
		{"install", "^TestMachines$/^install(-in-encrypted-rooms|-on-synapse)?$", "./b", ""},
		{"liar", "^TestDrills$/^liar(-.*)?$", "./b", ""},
		{"Restart", "Restart", "./a ./b", ""},
		{"TestOne/x", "TestOne/x", "./a", ""},
		{"^ask", "^(TestConversations)$/^ask", "./b", ""},
		{"nothing", "", "", "-run nothing: no conversation and no test has this name"},
		{"(", "", "", "-run (: error parsing regexp: missing closing ): `(`"},
	} {
		run, dirs, err := find(all, tt.name)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if run != tt.run || strings.Join(dirs, " ") != tt.dirs || said != tt.err {
			t.Errorf("find(%q) = %q, %q, %q; want %q, %q, %q", tt.name, run, dirs, said, tt.run, tt.dirs, tt.err)
		}
	}
}

// TestDeclared reads this folder.
func TestDeclared(t *testing.T) {
	for _, tt := range []struct{ args, want []string }{
		{[]string{"-race", "-run", "TestDeclared"}, []string{"-race", "-run", "TestDeclared", "./."}},
		{[]string{"--run=TestDeclared", "-v"}, []string{"-run=TestDeclared", "-v", "./."}},
		{[]string{"-run", "X", "./..."}, []string{"-run", "X", "./..."}},
		{[]string{"./..."}, []string{"./..."}},
	} {
		got, err := choose(".", tt.args)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("choose(%q) = %q, %v; want %q", tt.args, got, err, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	events := `
{"Action":"output","Package":"p","Test":"TestGood","Output":"silent\n"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":2}
{"Action":"run","Package":"p","Test":"TestConversations"}
{"Action":"run","Package":"p","Test":"TestConversations/first"}
{"Action":"output","Package":"p","Test":"TestConversations/first","Output":"=== RUN   TestConversations/first\n"}
{"Action":"output","Package":"p","Test":"TestConversations/first","Output":"    a.go:1: why\n"}
{"Action":"fail","Package":"p","Test":"TestConversations/first","Elapsed":9}
{"Action":"fail","Package":"p","Test":"TestConversations","Elapsed":9.5}
{"Action":"run","Package":"p","Test":"TestReal"}
{"Action":"output","Package":"p","Test":"TestReal","Output":"    a.go:2: NOT TESTED: no podman\n"}
{"Action":"output","Package":"p","Test":"TestReal","Output":"--- SKIP: TestReal (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestReal"}
{"Action":"run","Package":"p","Test":"TestCut"}
{"Action":"output","Package":"p","Test":"TestCut","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t12.000s\n"}
{"Action":"fail","Package":"p","Elapsed":12}
{"Action":"build-output","ImportPath":"q","Output":"q.go:1: broken\n"}
`
	var out bytes.Buffer
	r := newReport(&out, false)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	want := "    a.go:1: why\npanic: test timed out\nFAIL\tp\t12.000s\nq.go:1: broken\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	r.tell()
	want = `
Slowest packages:
    12.0 s  p

Slowest tests and conversations:
     9.0 s  first
     2.0 s  p TestGood

NOT RUN: 1 tests
  p: NOT TESTED: no podman
      TestReal
`
	if out.String() != want || r.ran != 4 {
		t.Errorf("%d tests ran, printed\n%s\nwant 4 and\n%s", r.ran, out.String(), want)
	}
}
