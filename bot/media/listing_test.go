package media

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListing(t *testing.T) {
	const meta = "81a4 1 12 65024:99 1700000000 2023-11-14 22:13:20.5 +0000|2023-11-14 22:13:20.5 +0000"
	file := func(path string) entry {
		return entry{path: path, meta: meta, mode: 0x81a4, size: 12, link: 1}
	}
	for _, c := range []struct {
		out  string
		cut  bool
		want []entry
	}{
		{"", false, nil},
		{"//" + meta + "//./a\n//" + meta + "//./b/c\n", false, []entry{file("a"), file("b/c")}},
		{"//" + meta + "//./a\n//" + meta + "//./b/c\n", true, []entry{file("a")}},
		{"//" + meta + "//./a\n//" + meta + "//./b/c", true, []entry{file("a")}},
		{"//" + meta + "//./a\n//" + meta, true, []entry{file("a")}},
		{"//" + meta + "//./a\n\n//" + meta + "//./81a4 1 12\n\n", false, []entry{file("a\n"), file("81a4 1 12\n")}},
		{"//" + meta + "//./../a\n//" + meta + "///etc/passwd\n//" + meta + "//./\n", false, nil},
		{"//" + meta + "//a\n//x 1 1 1:1 1//./b\n//81a4 1 -5 1:1 5//./c\n//81a4 1 5//./d\n", false, nil},
		{"words", false, nil},
	} {
		if diff := cmp.Diff(c.want, parseListing([]byte(c.out), c.cut), cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("listing %q (-want +got):\n%s", c.out, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("//81a4 1 3 1:1 5 y|z//./a\n//81a4 1 3 1:1 5 y|z//./b/c\n"), []byte("81a4 1 3 1:1 5 y|z\nabc\n81a4 1 3 1:1 5 y|z\n"))
	f.Add([]byte("////.//"), []byte("-\n"))
	f.Fuzz(func(t *testing.T, listing, answer []byte) {
		for _, e := range parseListing(listing, false) {
			if e.size < 0 || strings.HasPrefix(e.path, "/") || strings.Contains("/"+e.path+"/", "/../") || len(e.path) > maxPath {
				t.Errorf("an entry %+v", e)
			}
			want := min(e.size, 3)
			if data, err := parsePiece(answer, e, want); err == nil && int64(len(data)) != want {
				t.Errorf("a piece has %d bytes, want %d", len(data), want)
			}
		}
	})
}

// TestPieceThatShrank: what stands after the end of a file that became shorter is not its content.
func TestPieceThatShrank(t *testing.T) {
	e := entry{meta: "m", size: 8}
	whole := "m\n12345678\nm\n"
	if got, err := parsePiece([]byte(whole), e, 8); err != nil || string(got) != "12345678" {
		t.Errorf("whole: %q, %v", got, err)
	}
	for _, out := range []string{strings.Replace(whole, "345678", "3", 1), whole + "n\n", "n" + whole, "m\n", ""} {
		if got, err := parsePiece([]byte(out), e, 8); err == nil {
			t.Errorf("%q: %q", out, got)
		}
	}
}
