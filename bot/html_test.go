package bot

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
	"maunium.net/go/mautrix/event"
)

// allowed are the tags that clients are to show, of those that we make, with
// their attributes
// (https://spec.matrix.org/v1.11/client-server-api/#mroommessage-msgtypes).
var allowed = map[string][]string{
	"a": {"href"}, "code": {"class"}, "ol": {"start"},
	"del": nil, "h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "blockquote": nil, "p": nil, "ul": nil,
	"li": nil, "strong": nil, "em": nil, "hr": nil, "br": nil, "pre": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
}

// checkHTML tells what is wrong with a formatted body, "" for nothing.
func checkHTML(formatted string) (wrong, shown string) {
	var open []string
	var words strings.Builder
	z := html.NewTokenizer(strings.NewReader(formatted))
	for {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				return "open at the end: " + strings.Join(open, " "), ""
			}
			return "", words.String()
		case html.TextToken:
			words.WriteString(token.Data)
		case html.StartTagToken:
			attributes, ok := allowed[token.Data]
			if !ok {
				return "tag " + token.String(), ""
			}
			for _, a := range token.Attr {
				if !slices.Contains(attributes, a.Key) {
					return "attribute in " + token.String(), ""
				}
				scheme, _, _ := strings.Cut(a.Val, ":")
				if a.Key == "href" && !slices.Contains([]string{"http", "https", "ftp", "mailto", "magnet"}, strings.ToLower(scheme)) {
					return "target of " + token.String(), ""
				}
				if a.Key == "class" && !strings.HasPrefix(a.Val, "language-") {
					return "class of " + token.String(), ""
				}
			}
			if token.Data == "a" && slices.Contains(open, "a") {
				return "link in a link", ""
			}
			if token.Data != "br" && token.Data != "hr" {
				open = append(open, token.Data)
			}
			if len(open) > 100 {
				return "more than 100 tags in each other", ""
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				return "end " + token.String() + " in " + strings.Join(open, " "), ""
			}
			open = open[:len(open)-1]
		default:
			return "token " + token.String(), ""
		}
	}
}

// FuzzAnswer: whatever the agent says, each message is one that clients show,
// that fits, and that calls nobody.
func FuzzAnswer(f *testing.F) {
	for _, text := range bombs() {
		f.Add(text[:min(len(text), 4<<10)])
	}
	for _, text := range []string{
		"# a\n\n1. b\n2. c\n   - d\n\n> e\n\n```go\" onx=\"\nf\n```\n\n---\n~~g~~ **h** `i` <b>j</b> <!-- k --> &lt;l&gt; &#106;",
		"[a](javascript:b) [c](<data:text/html,d>) [e]: https://f \"g\"\n\n[e] ![h](mxc://i/j) <k:l> <javascript:m>",
		"[@bob:here](https://matrix.to/#/@bob:here) @room @bob:here",
		"a\u202Eb\x1b[31mc\x1b]0;d\x07e\r\nf\rg\u2028h\x00\xff",
		"|a|b|\n|-|:-:|\n|[c](d)|`e|f`|\n", "a\\\n*b\nc*\n\n\n* * *\n+ d\n\n\n\n    e",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32<<10 {
			return
		}
		var parts []*message
		if took := spent(t, func() { parts = answer(text, "$task") }); took > 5*time.Second {
			t.Fatalf("it took %v", took)
		}
		for i, m := range parts {
			data, err := json.Marshal(m)
			if err != nil || len(data) > maxEvent+1<<10 {
				t.Fatalf("a message has %d bytes, %v", len(data), err)
			}
			if m.Mentions == nil || len(m.Mentions.UserIDs) > 0 || m.Mentions.Room {
				t.Fatal("somebody is mentioned")
			}
			if m.Body != visible(m.Body) || !utf8.ValidString(m.Body) {
				t.Fatalf("the body is not what can be seen: %q", m.Body)
			}
			if strings.TrimSpace(m.Body) == "" && len(parts) > 1 {
				t.Fatalf("part %d of %d is empty", i, len(parts))
			}
			if m.FormattedBody == "" {
				continue
			}
			wrong, shown := checkHTML(m.FormattedBody)
			if wrong != "" || m.Format != event.FormatHTML {
				t.Fatalf("%s: %q of %q", wrong, m.FormattedBody, m.Body)
			}
			if more := beyond(shown, m.Body); more != "" {
				t.Fatalf("%q is shown, which is not in the body %q", more, m.Body)
			}
		}
	})
}

// beyond are the letters in shown that there are not as many of in body: what one
// client shows and another does not. Entities make letters.
func beyond(shown, body string) string {
	if strings.Contains(body, "&") {
		return ""
	}
	left := map[rune]int{}
	for _, r := range body {
		left[r]++
	}
	var more []rune
	for _, r := range shown {
		if left[r]--; left[r] < 0 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			more = append(more, r)
		}
	}
	return string(more)
}

// bombs are texts of up to 16 KiB that are made to become much more.
func bombs() []string {
	const n = 16 << 10
	wide := strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n"
	stairs, ticks := "", ""
	for i := 0; len(stairs) < n; i++ {
		stairs += strings.Repeat(" ", 2*i) + "- a\n"
	}
	for i := 1; len(ticks) < n; i++ {
		ticks += strings.Repeat("`", i) + "a"
	}
	return []string{
		wide + strings.Repeat("|\n", (n-len(wide))/2), "> " + strings.ReplaceAll(wide, "\n", "\n> ") + strings.Repeat("|\n> ", 2000),
		strings.Repeat("|a|b|\n|-|-|\n", n/12), stairs, ticks,
		strings.Repeat(">", n), strings.Repeat("> ", n/2), strings.Repeat("> - ", n/4), strings.Repeat("1. ", n/3),
		strings.Repeat("[", n), strings.Repeat("[a](", n/4), strings.Repeat("![", n/2), strings.Repeat("[a]: b\n", n/14) + strings.Repeat("[a]", n/6),
		strings.Repeat("*a **b ", n/7), strings.Repeat("*", n/2) + "a" + strings.Repeat("*", n/2-1), strings.Repeat("~a ~~b", n/6),
		strings.Repeat("<a ", n/3), strings.Repeat("<![CDATA[", n/9), strings.Repeat("&", n), strings.Repeat("a\n=\n", n/4), strings.Repeat("\\", n),
	}
}

// spent is the processor's time that something takes: on a host that has much
// else to do, the clock says little.
func spent(t *testing.T, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var used syscall.Rusage
		if err := syscall.Getrusage(1, &used); err != nil { // RUSAGE_THREAD
			t.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	begun := now()
	do()
	return now() - begun
}

// A text that is made to be a burden is one no more than another.
func TestBombs(t *testing.T) {
	for _, text := range bombs() {
		var parts []string
		took := spent(t, func() { parts = fitting(text, partSize) })
		if took > 5*time.Second || len(parts) > 128 {
			t.Errorf("%.20q… took %v and %d parts", text, took, len(parts))
		}
		if n := len(toHTML(text)); n > 20*len(text) {
			t.Errorf("%.20q… makes %d bytes", text, n)
		}
	}
}

// FuzzHTMLIn: whatever somebody sends as HTML and text, the task is what they
// wrote, without what it replies to.
func FuzzHTMLIn(f *testing.F) {
	f.Add("> <@bob:here> old\n> words\n\nnew", "<mx-reply><blockquote>old</blockquote></mx-reply>new", true)
	f.Add("> * <@bob:here> waves\n\nnew", "<mx-reply>"+strings.Repeat("<blockquote>", 1000), true)
	f.Add("> quoted by hand\n\nnew", strings.Repeat("<a href=\"", 1000), false)
	f.Add("> <@bob:here> nothing else", strings.Repeat("<a href='https://matrix.to/#/%40bot%3Ahere'>", 100), true)
	f.Fuzz(func(t *testing.T, body, formatted string, reply bool) {
		content := map[string]any{"msgtype": "m.text", "body": body, "format": "org.matrix.custom.html", "formatted_body": formatted}
		if reply {
			content["m.relates_to"] = map[string]any{"m.in_reply_to": map[string]any{"event_id": "$0"}}
		}
		raw, err := json.Marshal(map[string]any{"event_id": "$1", "sender": "@ann:here", "type": "m.room.message", "content": content})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := parseEvent(raw)
		m, spoken := e.message()
		if !ok || !spoken {
			t.Fatalf("%s is no message", raw)
		}
		text := taskText(m)
		if !strings.HasSuffix(strings.TrimSpace(m.Body), strings.TrimSpace(text)) {
			t.Fatalf("%q became %q", m.Body, text)
		}
		quoted := reply && (strings.HasPrefix(text, "> <") || strings.HasPrefix(text, "> * <"))
		if _, words, _ := strings.Cut(m.Body, "\n\n"); quoted && strings.TrimSpace(words) != "" && !strings.HasPrefix(words, ">") && !strings.Contains(words, "\n> ") {
			if head, _, _ := strings.Cut(m.Body, "\n\n"); !strings.Contains(strings.ReplaceAll(head, "\n> ", ""), "\n") {
				t.Fatalf("the quotation stayed: %q", text)
			}
		}
		classifyMessage(m)
	})
}
