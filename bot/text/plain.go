package text

import (
	"bufio"
	"bytes"
	stdhtml "html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
)

// plain writes parsed Markdown without markup, for notifications, previews and clients that show no HTML.
type plain struct{ source []byte }

// document begins with a line that says something by itself: previews show little more. A heading at the beginning
// therefore shares its line with the text below it.
func (p plain) document(doc ast.Node) string {
	said := p.blocks(doc)
	first := doc.FirstChild()
	if first == nil || first.NextSibling() == nil || first.Kind() != ast.KindHeading ||
		first.NextSibling().Kind() != ast.KindParagraph {
		return said
	}
	heading, rest, _ := strings.Cut(said, "\n")
	last, _ := utf8.DecodeLastRuneInString(heading)
	if !unicode.IsPunct(last) {
		heading += ":"
	}
	return strings.TrimSpace(heading + " " + strings.TrimLeft(rest, "\n"))
}

// blocks writes the children of a block, with empty lines where the source has them. A heading has one above it and
// none below.
func (p plain) blocks(parent ast.Node) string {
	var out strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		said := p.block(n)
		if said == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
			apart := n.HasBlankPreviousLines() || n.Kind() == ast.KindHeading || n.Kind() == extast.KindTable
			if apart && n.PreviousSibling().Kind() != ast.KindHeading {
				out.WriteByte('\n')
			}
		}
		out.WriteString(said)
	}
	return out.String()
}

func (p plain) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Heading:
		return strings.ReplaceAll(p.inline(n), "\n", " ")
	case *ast.Paragraph, *ast.TextBlock:
		return strings.TrimSpace(p.inline(n))
	case *ast.FencedCodeBlock, *ast.CodeBlock: // indented, so that nothing in it looks like the text around it
		return strings.TrimRight(indent(p.raw(n.Lines()), "    ", "    "), " ")
	case *display:
		return p.raw(n.Lines())
	case *ast.HTMLBlock:
		said := p.raw(n.Lines())
		if n.HasClosure() {
			said += "\n" + string(n.ClosureLine.Value(p.source))
		}
		return strings.Trim(said, "\n")
	case *ast.Blockquote:
		return indent(p.blocks(n), "> ", "> ")
	case *ast.List:
		return p.list(n)
	case *ast.ThematicBreak:
		return "———"
	case *extast.Table:
		return p.table(n)
	}
	return p.blocks(n)
}

func (p plain) raw(lines *gmtext.Segments) string {
	return strings.Trim(string(lines.Value(p.source)), "\n")
}

func (p plain) list(n *ast.List) string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		out = append(out, indent(p.blocks(item), marker, "  "))
	}
	return strings.Join(out, "\n")
}

// indent writes first before the first line and next before the others, except for empty ones.
func indent(said, first, next string) string {
	lines := strings.Split(said, "\n")
	for i, line := range lines {
		if i == 0 {
			lines[i] = first + line
		} else if line != "" {
			lines[i] = next + line
		}
	}
	return strings.Join(lines, "\n")
}

// inline writes the text within a block.
func (p plain) inline(parent ast.Node) string {
	var out strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			out.WriteString(p.words(n))
		case *ast.CodeSpan:
			out.WriteString(strings.ReplaceAll(p.inline(n), "\n", " "))
		case *formula:
			out.Write(n.tex.Value(p.source))
		case *ast.RawHTML:
			out.Write(n.Segments.Value(p.source))
		case *ast.AutoLink:
			out.Write(n.Label(p.source))
		case *ast.Link:
			out.WriteString(target(p.inline(n), string(n.Destination)))
		case *ast.Image:
			out.WriteString("🖼 " + target(p.inline(n), string(n.Destination)))
		default:
			out.WriteString(p.inline(n))
		}
	}
	return out.String()
}

// words returns a piece of text, without backslashes and entities.
func (p plain) words(n *ast.Text) string {
	value := n.Segment.Value(p.source)
	said := string(value)
	if !n.IsRaw() && bytes.ContainsAny(value, `\&`) {
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		html.DefaultWriter.Write(w, value)
		_ = w.Flush() // a buffer does not fail
		said = stdhtml.UnescapeString(out.String())
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		said += "\n"
	}
	return said
}

// target adds the target of a link to its text, if it says something else. A link to somebody or something in Matrix is
// for clients: to people its text says enough.
func target(said, url string) string {
	switch {
	case strings.TrimSpace(said) == "":
		return url
	case url == "" || tells(said, url) || strings.HasPrefix(url, "https://matrix.to/#/"):
		return said
	}
	return said + " (" + url + ")"
}

// tells reports whether the text of a link is its target.
func tells(said, url string) bool {
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		said, url = strings.TrimPrefix(said, scheme), strings.TrimPrefix(url, scheme)
	}
	return strings.TrimSuffix(said, "/") == strings.TrimSuffix(url, "/")
}
