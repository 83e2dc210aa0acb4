package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	digits := func(texts ...string) (list []Option) {
		keys := []string{"1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "6️⃣", "7️⃣", "8️⃣", "9️⃣", "🔟"}
		for i, s := range texts {
			list = append(list, Option{keys[i], fmt.Sprintf("%d. %s", i+1, s)})
		}
		return list
	}
	letters := func(first rune, texts ...string) (list []Option) {
		keys := []string{"🇦", "🇧", "🇨", "🇩", "🇪", "🇫", "🇬", "🇭", "🇮", "🇯"}
		for i, s := range texts {
			list = append(list, Option{keys[i], string(first+rune(i)) + ". " + s})
		}
		return list
	}
	var twelve, ten []string
	for i := range 12 {
		twelve = append(twelve, fmt.Sprintf("%d) n%d", i+1, i))
		if i < 10 {
			ten = append(ten, fmt.Sprintf("n%d", i))
		}
	}
	for _, c := range []struct {
		name, question string
		want           []Option
	}{
		{"none", "Which database should I back up - production or staging?", nil},
		{"numbers", "Which?\n1. production\n2. staging\n", digits("production", "staging")},
		{"brackets, CRLF", "Which?\r\n1) production\r\n2) staging\r\n", digits("production", "staging")},
		{"both brackets", "(1) x\n(2) y", digits("x", "y")},
		{"letters", "a) x\nb) y\nc) z", letters('a', "x", "y", "z")},
		{"capitals", "A. x\nB. y", letters('A', "x", "y")},
		{"bullets", "- A: x\n- B: y", letters('A', "x", "y")},
		{"options by name", "* Option A: x\n* Option B: y", letters('A', "x", "y")},
		{"bold labels", "**1.** x\n**2)** y\n**3**: z", digits("x", "y", "z")},
		{"all bold", "**1. Production** – big\n**2. Staging** – small", digits("**Production** – big", "**Staging** – small")},
		{"spaced, with text between", "1. x\n   more on x\n\n   - and on\n2. y\n\nOr none?", digits("x", "y")},
		{"ten", strings.Join(twelve[:10], "\n"), digits(ten...)},
		{"more than ten", strings.Join(twelve, "\n"), digits(ten...)},
		{"one option is no choice", "1. x", nil},
		{"does not start at 1", "2. x\n3. y", nil},
		{"a gap ends it", "1. x\n2. y\n4. z", digits("x", "y")},
		{"mixed cases", "A) x\nb) y", nil},
		{"the last list", "I did\n1. this\n2. that\n3. more\nNow?\na) go\nb) stop", letters('a', "go", "stop")},
		{"a list of one after it", "1. x\n2. y\n\n1. z", digits("x", "y")},
		{"in code", "```\n1. x\n2. y\n```\nok?", nil},
		{"deep", "    1. x\n    2. y", nil},
		{"no text", "1.\n2.", nil},
		{"versions and times", "1.5 GB\n2.5 GB\n1:30", nil},
		{"no label", "a dog\nb cat", nil},
		{"long", "1. " + strings.Repeat("€", 1000) + "\n2. y", digits(strings.Repeat("€", 165)+"…", "y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Options(c.question)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChosen(t *testing.T) {
	list := Options("1. x\n2. y")
	for _, c := range []struct {
		key, answer string
	}{{"1️⃣", "1. x"}, {"2⃣", "2. y"}, {"3️⃣", ""}, {"", ""}, {"👍", ""}} {
		if answer, ok := Chosen(list, c.key); answer != c.answer || ok != (c.answer != "") {
			t.Errorf("%q: %q, %v", c.key, answer, ok)
		}
	}
}

func TestWithoutOptions(t *testing.T) {
	for question, want := range map[string]string{
		"Which?":                              "Which?",
		"Which?\n1. production\n2. staging\n": "Which?",
		"1. x\n2. y\nOr none?":                "Or none?",
		"Which?\n\n1. x\n   more\n\n   - and on\n2. y\n   and more\nOr none?": "Which?\n\nOr none?",
		"I did\n1. this\n2. that\nNow?\na) go\nb) stop":                       "I did\n1. this\n2. that\nNow?",
		"1. x\n2. y": "",
	} {
		if got := WithoutOptions(question); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}
