package gemini

import (
	"bytes"
	"strings"
	"testing"
)

const testKey = "AIzaSyTheRealKeyOfTheOperator-0123456789"

// scrubbed passes s through in pieces of n bytes.
func scrubbed(key, s string, n int) string {
	sc := scrubber{key: []byte(key)}
	var out bytes.Buffer
	for ; len(s) > n; s = s[n:] {
		out.Write(sc.next([]byte(s[:n])))
	}
	out.Write(sc.next([]byte(s)))
	out.Write(sc.rest())
	return out.String()
}

func TestScrub(t *testing.T) {
	stars := strings.Repeat("*", len(testKey))
	for in, want := range map[string]string{
		"":                                   "",
		"nothing":                            "nothing",
		testKey:                              stars,
		"a" + testKey + "b":                  "a" + stars + "b",
		testKey + testKey:                    stars + stars,
		testKey[:20]:                         testKey[:20],
		testKey[:20] + testKey:               testKey[:20] + stars,
		testKey[:len(testKey)-1] + "x":       testKey[:len(testKey)-1] + "x",
		"AAIzaSAIzaSyThe" + testKey + "AIza": "AAIzaSAIzaSyThe" + stars + "AIza",
	} {
		for n := 1; n < len(in)+2; n++ {
			if got := scrubbed(testKey, in, n); got != want {
				t.Errorf("in pieces of %d: %q became %q", n, in, got)
			}
		}
	}
	if got := scrubbed("short", "a short word", 3); got != "a short word" {
		t.Errorf("a key that is a word was replaced: %q", got)
	}
}

// What cannot be the beginning of the key is passed on at once: a stream must not wait.
func TestScrubHoldsNothingBack(t *testing.T) {
	sc := scrubber{key: []byte(testKey)}
	if got := string(sc.next([]byte("data: {}\r\n\r\n"))); got != "data: {}\r\n\r\n" {
		t.Errorf("only %q was passed on", got)
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("abcabcabcabcabcabc", "xxabcabcabcabcabcabcyy", uint8(3))
	f.Add(testKey, "a"+testKey+testKey[:9], uint8(7))
	f.Fuzz(func(t *testing.T, key, s string, n uint8) {
		got := scrubbed(key, s, int(n)+1)
		if len(got) != len(s) {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		if len(key) >= minScrubbed && !strings.Contains(key, "*") && strings.Contains(got, key) {
			t.Errorf("the key is in %q", got)
		}
	})
}
