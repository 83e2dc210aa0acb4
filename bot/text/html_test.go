package text

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// allowed lists the tags that clients should show, among those that we produce, with their attributes
// (https://spec.matrix.org/v1.11/client-server-api/#mroommessage-msgtypes).
var allowed = map[string][]string{
	"a": {"href"}, "code": {"class"}, "ol": {"start"}, "span": {"data-mx-maths"}, "div": {"data-mx-maths"},
	"del": nil, "h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "blockquote": nil, "p": nil, "ul": nil,
	"li": nil, "strong": nil, "em": nil, "hr": nil, "br": nil, "pre": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
}

// checkHTML returns what is wrong with a formatted body, or "".
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

// partSize and maxEvent are the limits that a Matrix bot passes to Fit.
const partSize, maxEvent = 16 << 10, 44 << 10

// fits estimates the size of a message as JSON.
func fits(part string) bool { return fitsWith(Render(part)) }

func fitsWith(body, formatted string) bool {
	data, err := json.Marshal([]string{body, formatted})
	return err == nil && len(data) <= maxEvent
}

func TestHTML(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "hello", ""},
		{"markdown", "**bold** and `code`", "<strong>bold</strong> and <code>code</code>"},
		{"HTML is shown", "*a* <img src=x onerror=alert(1)>", "<em>a</em> &lt;img src=x onerror=alert(1)&gt;"},
		{"HTML alone is plain text", "<img src=x onerror=alert(1)>", ""},
		{"dangerous link", "[x](javascript:alert(1)) [**y**](JaVa&Tab;script:z)", "x (javascript:alert(1)) <strong>y</strong> (JaVa&amp;Tab;script:z)"},
		{"a path", "in [main.go](src/main.go \"the title\")", ""},
		{"links", "[a](https://b.c/?d=\"&e 'f') <https://g.h> <me@i.j> <irc://k>", `<a href="https://b.c/?d=%22&amp;e">a</a> <a href="https://g.h">https://g.h</a> <a href="mailto:me@i.j">me@i.j</a> irc://k`},
		{"image", "![a *chart*](https://x.y/z.png) ![](https://x.y/z.png) ![c](chart.png)",
			`🖼 <a href="https://x.y/z.png">a <em>chart</em></a> 🖼 <a href="https://x.y/z.png">https://x.y/z.png</a> 🖼 c (chart.png)`},
		{"links in links", "[![build](https://b.c/d.svg)](https://e.f) ![a [b](https://c.d) e](https://f.g)",
			`<a href="https://e.f">🖼 build</a> 🖼 <a href="https://f.g">a b e</a>`},
		{"data", "![x](data:image/png;base64,iVBO)", ""},
		{"table", "|a|b|\n|:-|-:|\n|1|2|", "<table>\n<thead>\n<tr>\n<th>a<br></th>\n<th>b<br></th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><strong>1</strong><br></td>\n<td>2<br></td>\n</tr>\n</tbody>\n</table>"},
		{"a shell's || is not a spoiler", "*a* || b || c", "<em>a</em> || b || c"},
		{"formulas", `$a_1$, \(\frac{b_1}{"c"}\) and $$d^2$$: *e*`, `<span data-mx-maths="a_1"><code>a_1</code></span>, <span data-mx-maths="\frac{b_1}{&quot;c&quot;}"><code>\frac{b_1}{&quot;c&quot;}</code></span>` +
			` and <span data-mx-maths="d^2"><code>d^2</code></span>: <em>e</em>`},
		{"formulas in lines of their own", "so\n$$\na &= b_1 \\\\\n- c\n$$\n> \\[\n> d_1\n> \\]\n\n\\[ e_1 \\]",
			"<p>so</p>\n<div data-mx-maths=\"a &amp;= b_1 \\\\\n- c\"><code>a &amp;= b_1 \\\\\n- c</code></div>\n" +
				"<blockquote>\n<div data-mx-maths=\"d_1\"><code>d_1</code></div>\n</blockquote>\n<div data-mx-maths=\"e_1\"><code>e_1</code></div>"},
		{"no formulas", "between $5 and $10, 5$-6$, US$5/US$6, $HOME/$USER, \\$x$, $5 or 6$ and `$a_1$`", "between $5 and $10, 5$-6$, US$5/US$6, $HOME/$USER, $x$, $5 or 6$ and <code>$a_1$</code>"},
		{"an open formula", "$$ a_1 and \\(b_1\n\n\\[c_1\n\nd \\(see *below*\\)", "<p>$$ a_1 and (b_1</p>\n<p>[c_1</p>\n<p>d (see <em>below</em>)</p>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, formatted := Render(c.text)
			if diff := cmp.Diff(c.want, formatted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What notifications, previews and clients without HTML show has no markup, and begins with what matters.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"markup", "**Done**: *three* `tests` ~~fail~~ pass\nin 5\\*5 s &amp; more<br>", "Done: three tests fail pass\nin 5*5 s & more<br>"},
		{"a heading first", "# Result\n\nAll tests pass.\n\n## Next\n\nNothing.\n\n---\nbye", "Result: All tests pass.\n\nNext\nNothing.\n\n———\nbye"},
		{"a question first", "## Which one?\nThe **red** one.", "Which one? The red one."},
		{"only a heading", "# Done", "Done"},
		{"links", "See [the report](https://a.b/c?d=e), [a.b](https://a.b/), <https://f.g>, [main.go](src/main.go), ![a chart](https://x.y/z.png).\n\n_2 s · [the task](https://matrix.to/#/%21den:x/$task?via=x)_",
			"See the report (https://a.b/c?d=e), a.b, https://f.g, main.go (src/main.go), 🖼 a chart (https://x.y/z.png).\n\n2 s · the task"},
		{"lists", "I did:\n- one\n  - two\n    more\n- [x] three\n\n3. four\n4. five\n\n   six", "I did:\n• one\n  • two\n    more\n• [x] three\n\n3. four\n4. five\n\n  six"},
		{"code", "Run:\n```sh\nls *  \\\n  -l\n```\nthen\n\n    cat `x`", "Run:\n    ls *  \\\n      -l\n\nthen\n\n    cat `x`"},
		{"a quotation", "> **a**\n> b\n\nc", "> a\n> b\n\nc"},
		{"a narrow table", "|name|size|\n|-|-:|\n|**a**|1|\n|bcdefg|22|", "name    size\na       1\nbcdefg  22"},
		{"a wide table", "|parser|time|verdict|\n|---|---|---|\n|recursive descent|12 s|easy to read and to change|\n|table-driven|4 s||",
			"parser: recursive descent\ntime: 12 s\nverdict: easy to read and to change\n\nparser: table-driven\ntime: 4 s"},
		{"formulas", "so $a_1$\n$$\n\\frac{b}{c}\n$$", "so a_1\n\\frac{b}{c}"},
		{"hidden characters", "a&#x202e;b", "ab"},
		{"nothing to say", "[a]: https://b.c", "[a]: https://b.c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, _ := Render(c.text)
			if diff := cmp.Diff(c.want, body); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzHTML: whatever the agent says, every part can be shown by clients, and fits.
func FuzzHTML(f *testing.F) {
	for _, text := range bombs() {
		f.Add(text[:min(len(text), 4<<10)])
	}
	for _, text := range []string{
		"# a\n\n1. b\n2. c\n   - d\n\n> e\n\n```go\" onx=\"\nf\n```\n\n---\n~~g~~ **h** `i` <b>j</b> <!-- k --> &lt;l&gt; &#106;",
		"[a](javascript:b) [c](<data:text/html,d>) [e]: https://f \"g\"\n\n[e] ![h](mxc://i/j) <k:l> <javascript:m>",
		"[@bob:here](https://matrix.to/#/@bob:here) @room @bob:here",
		"a\u202Eb\x1b[31mc\x1b]0;d\x07e\r\nf\rg\u2028h\x00\xff",
		"# a\nb $c_1$ $$d$$ \\(e_\\)\n$$\nf\n$$\n\\[g_1\\]\n|h|\n|-|\n|" + strings.Repeat("i", 50) + "|",
		"|a|b|\n|-|:-:|\n|[c](d)|`e|f`|\n", "a\\\n*b\nc*\n\n\n* * *\n+ d\n\n\n\n    e",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32<<10 {
			return
		}
		var parts []string
		if took := spent(t, func() { parts = Fit(text, partSize, fits) }); took > 5*time.Second {
			t.Fatalf("it took %v", took)
		}
		for i, part := range parts {
			if !fits(part) && len(part) > 512 {
				t.Fatalf("part %d of %d does not fit", i, len(parts))
			}
			if part != Visible(part) || !utf8.ValidString(part) {
				t.Fatalf("the part contains invisible characters: %q", part)
			}
			if strings.TrimSpace(part) == "" {
				t.Fatalf("part %d of %d is empty", i, len(parts))
			}
			body, formatted := Render(part)
			if body != Visible(body) || strings.TrimSpace(body) == "" {
				t.Fatalf("the plain text of %q is %q", part, body)
			}
			if formatted == "" {
				continue
			}
			wrong, shown := checkHTML(formatted)
			if wrong != "" {
				t.Fatalf("%s: %q of %q", wrong, formatted, part)
			}
			if more := beyond(shown, body); more != "" {
				t.Fatalf("%q is shown, which is not in the plain text %q of %q", more, body, part)
			}
		}
	})
}

// beyond returns the letters that occur more often in shown than in body: what one client shows and another does not.
// Entities make letters.
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

// bombs are texts of up to 16 KiB that try to become much larger.
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
		strings.Repeat("\\(", n/2), strings.Repeat("$a", n/2), strings.Repeat("$$\na_\n", n/6), strings.Repeat("\\[\n", n/3), strings.Repeat("- ", 30) + strings.Repeat("a\n", n/2),
		strings.Repeat("|a", 500) + "|\n" + strings.Repeat("|-", 500) + "|\n" + strings.Repeat("|b\n", n/4),
	}
}

// spent measures processor time: on a busy host the clock says little.
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

// A text made to be expensive costs no more than any other.
func TestBombs(t *testing.T) {
	for _, text := range bombs() {
		small := func(part, body, formatted string) {
			if len(formatted) > 20*len(part) || len(body) > maxGrowth*len(part) {
				t.Errorf("%.20q…, %d bytes, makes %d and %d", part, len(part), len(formatted), len(body))
			}
		}
		whole := false // it was formatted, not only its parts
		var parts []string
		took := spent(t, func() {
			parts = Fit(text, partSize, func(part string) bool {
				body, formatted := Render(part)
				small(part, body, formatted)
				whole = whole || part == text
				return fitsWith(body, formatted)
			})
		})
		if took > 5*time.Second || len(parts) > 128 {
			t.Errorf("%.20q… took %v and %d parts", text, took, len(parts))
		}
		if !whole {
			body, formatted := Render(text)
			small(text, body, formatted)
		}
	}
}
