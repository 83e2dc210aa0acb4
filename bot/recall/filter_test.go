package recall

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// A known secret is removed in every way that it is usually written.
func TestCleanKnown(t *testing.T) {
	const known, more = "correct horse/+<5>", "Tröt\"9x"
	f := NewFilter(known, "short", "")
	quoted, _ := json.Marshal(map[string]string{"a": more, "b": known})
	for _, c := range []struct{ text, want string }{
		{"it is " + known + ".", "it is [secret]."},
		{known + known, "[secret][secret]"},
		{"?a=" + url.QueryEscape(known) + "&b=1", "?a=[secret]&b=1"},
		{"/a/" + url.PathEscape(known) + "/b", "/a/[secret]/b"},
		{"?a=correct%20horse%2f%2b%3c5%3e", "?a=[secret]"},
		{string(quoted), `{"a":"[secret]","b":"[secret]"}`},
		{"Cookie: " + base64.StdEncoding.EncodeToString([]byte(known)) + " x", "Cookie: [secret] x"},
		{more + " and " + url.QueryEscape(more), "[secret] and [secret]"},
		{"tr\x00\x1b[1mcorrect ho\x00rse/+<5>", "tr[secret]"},
		{"short is not secret", "short is not secret"},
		{"correct horse", "correct horse"},
		{"Q29ycmVjdCBo is base64", "Q29ycmVjdCBo is base64"},
		{"", ""},
	} {
		if got := f.Clean(c.text, more, "tiny"); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
	for before := range 4 {
		for after := range 4 {
			s := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", before) + known + strings.Repeat("b", after)))
			if got := f.Clean(s); !strings.Contains(got, mark) || len(got) > 8+8+len(mark) {
				t.Errorf("%q became %q", s, got)
			}
		}
	}
	if got := NewFilter("secret", "[secret]").Clean("a secret [secret]"); got != "a secret [secret]" {
		t.Errorf("%q", got)
	}
}

// Clean never returns a known secret, whatever is around it, returns valid text, and changes nothing the second time.
func TestCleanAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"password", "token", " is ", "=", ": ", "\"", "'", "\\", "\n", "\xff", "\xe2\x82", "é", "\x00", "\x1b[", "://", "@", ":", "a", "B7", "-----BEGIN RSA PRIVATE KEY-----",
		"-----END RSA PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.", "ghp_", "mysql -p", "curl -u ", "&x=", "%41", "=====", "**", " ", "[secret]"}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 3000 {
		secret := strings.TrimSpace(text(1+r.IntN(5))) + "qZ"
		if strings.ContainsAny(secret, "[]") || len(secret) < minSecret {
			continue
		}
		s := text(r.IntN(8)) + secret + text(r.IntN(8))
		got := NewFilter(secret).Clean(s)
		if strings.Contains(got, secret) || !utf8.ValidString(got) {
			t.Fatalf("%q without %q is %q", s, secret, got)
		}
		if more := NewFilter().Clean(s, secret); more != got {
			t.Fatalf("%q: %q and %q", s, got, more)
		}
		Instructs(s)
		AsksForSecret(s)
		LooksSecret(s)
		Approval(s, s)
	}
}

// A text over the limit is cut between words.
func TestCleanLong(t *testing.T) {
	const known = "hunter2hunter2"
	for before := maxText - 20; before < maxText; before++ {
		got := head(strings.Repeat("ab\n", before/3) + known + " more " + known)
		if strings.Contains(strings.ReplaceAll(got, known, ""), "hunt") || len(got) < maxText-maxValue || len(got) > maxText {
			t.Fatalf("%d bytes, the last are %q", len(got), got[len(got)-30:])
		}
	}
	for _, s := range []string{"", known, strings.Repeat(" ", maxText)} {
		if head(s) != s {
			t.Errorf("%d bytes were cut", len(s))
		}
	}
	if got := NewFilter(known).Clean(strings.Repeat("a", maxText-5) + known); strings.Contains(got, "hunt") || len(got) < maxText-maxValue {
		t.Errorf("%d bytes, a part of the secret may be left", len(got))
	}
}

func TestApproval(t *testing.T) {
	for _, c := range []struct {
		question, answer string
		want             bool
	}{
		{"May I run this command in `/workspace`?\n\nmake deploy", "only on staging", true},
		{"Which one?", "yes", true},
		{"Which one?", "Yes, please!", true},
		{"Which one?", "ok, do it", true},
		{"Which one?", "go ahead 👍🏽", true},
		{"Which one?", "👍", true},
		{"Which one?", "❌", true},
		{"Which one?", "✅", true},
		{"Which one?", "not now", true},
		{"Which one?", "Cancel.", true},
		{"Which one?", "Ja, bitte", true},
		{"Which one?", "oui", true},
		{"Which one?", "sí", true},
		{"Which one?", "Да!", true},
		{"Which one?", "нет", true},
		{"Which one?", "No, don't do that", true},
		{"May I delete the branch?", "yes, but keep the tag", true},
		{"The tests pass. Shall I push?", "No - wait for Bob", true},
		{"Should I use production?", "ok for today", true},
		{"Do you want me to upgrade Go?", "sure, to 1.26", true},
		{"Is it OK if I drop the table?", "nope, never drop tables", true},
		{"Darf ich das löschen?", "Nein, auf keinen Fall!", true},
		{"Soll ich deployen?", "ja, auf staging", true},
		{"Which database - production or staging?", "production", false},
		{"Should I use production or staging?", "staging", false},
		{"Should I use production or staging?", "note the port: 5433", false},
		{"Which address?", "no-reply@example.com", false},
		{"May I use another address?", "no-reply@example.com", false},
		{"Which branch?", "okapi", false},
		{"Which branch?", "yes, the one named main", false},
		{"Which port?", "do it on 5433", false},
		{"What is the host?", "nein.example.com", false},
		{"Soll ich main oder dev nehmen?", "dev", false},
		{"Do you want me to use npm or pnpm?", "pnpm", false},
		{"Which language?", "Noto", false},
		{"Which language?", "German", false},
		{"How many?", "1", false},
		{"May I ask which region?", "eu-west-1", false},
		{"Can I reach the server?", "only by VPN", false},
		{"Which one?", "", false},
		{"Which time zone?", "Europe/Berlin", false},
		{"Which tabs?", "never spaces", false},
		{"Which name?", "Da Vinci", false},
		{"Which one?", "just the second", false},
		{"Which file?", "that.go", false},
		{"Who may merge?", "Bob", false},
		{"Which tool may I use?", "yarn", false},
	} {
		if got := Approval(c.question, c.answer); got != c.want {
			t.Errorf("Approval(%q, %q) = %t", c.question, c.answer, got)
		}
	}
}
