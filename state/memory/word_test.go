package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Ann's dog didn't bark.":        "ann dog didn t bark",
		"getUserName HTTPServer a_b":    "getusername get user name httpserver http server a b",
		"v1.2.3 on 10.0.0.1":            "v1 2 3 on 10 0 0 1",
		"Überprüfung für Straße Café":   "uberprufung fur strasse cafe",
		"数据库备份":                         "数据 据库 库备 备份",
		"日":                             "日",
		"サーバーを再起動 done":                 "サー ーバ バー ーを を再 再起 起動 done",
		"Ёлка и ёж":                     "елка и еж",
		"\x00\xff\xfe NUL\x00byte":      "nul byte",
		"":                              "",
		strings.Repeat("x", 100) + " y": strings.Repeat("x", 40) + " y",
	} {
		var got []string
		words(text, func(word string) { got = append(got, word) })
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestStems(t *testing.T) {
	s := newStemmer()
	for _, same := range [][]string{
		{"deploy", "deploys", "deployed", "deploying"}, {"run", "running", "ran"}, {"child", "children", "kids"},
		{"database", "databases", "db"}, {"write", "wrote", "written"}, {"certificate", "certs"}, {"серверы", "сервера"}, {"march", "march"},
	} {
		for _, word := range same[1:] {
			if s.stem(word) != s.stem(same[0]) {
				t.Errorf("%s is %s, but %s is %s", word, s.stem(word), same[0], s.stem(same[0]))
			}
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, text := range []string{"Hello", "数据库 x", "a\x80b", "İIıi", "é\u0301", "\U000E0001", "ﬃ", "२०२६"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newStemmer()
		words(text, func(word string) {
			stem := s.stem(word)
			if word == "" || strings.ContainsAny(word+stem, " \"'*():^-") || len(word) > maxWord+utf8.UTFMax {
				t.Errorf("%q has the word %q with the stem %q", text, word, stem)
			}
		})
		_ = parse(text)
		_ = spans(text, day(1, 1))
		_ = document(SourceNote, "MEMORY.md", text)
	})
}
