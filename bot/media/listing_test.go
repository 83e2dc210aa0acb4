package media

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseListing(t *testing.T) {
	const meta = "81a4 1 12 65024:99 1700000000 2023-11-14 22:13:20.5 +0000|2023-11-14 22:13:20.5 +0000"
	file := func(path string) entry {
		return entry{path: path, meta: meta, mode: 0x81a4, size: 12, link: 1, time: time.Unix(1700000000, 0)}
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
			want := []piece{{e, 0, min(e.size, 3)}, {e, 0, min(e.size, 3)}}
			for i, data := range parsePieces(answer, want) {
				if int64(len(data)) != want[i].length {
					t.Errorf("piece %d has %d bytes, want %d", i, len(data), want[i].length)
				}
			}
		}
	})
}

// TestPiecesThatShrank: after a file became shorter, the next one's bytes must not count as its own.
func TestPiecesThatShrank(t *testing.T) {
	e := entry{meta: "m", size: 8}
	pieces := []piece{{e, 0, 8}, {e, 0, 8}}
	whole := "m\n12345678\nm\nm\nabcdefgh\nm\n"
	if got := parsePieces([]byte(whole), pieces); len(got) != 2 || string(got[1]) != "abcdefgh" {
		t.Errorf("whole: %q", got)
	}
	if got := parsePieces([]byte(strings.Replace(whole, "345678", "3", 1)), pieces); len(got) != 0 {
		t.Errorf("shrunk: %q", got)
	}
}

func TestRequests(t *testing.T) {
	var many []entry
	for range 250 {
		many = append(many, entry{size: 0})
	}
	sizes := func(files ...entry) (all [][]int64) {
		for _, request := range requests(files) {
			var one []int64
			for _, p := range request {
				one = append(one, p.length)
			}
			all = append(all, one)
		}
		return all
	}
	if diff := cmp.Diff([][]int64{{0, 5}, {chunk}, {chunk}, {1, 7}}, sizes(entry{}, entry{size: 5}, entry{size: 2*chunk + 1}, entry{size: 7})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := requests(many); len(got) != 3 || len(got[0]) != chunkFiles {
		t.Errorf("250 empty files are %d requests", len(got))
	}
}
