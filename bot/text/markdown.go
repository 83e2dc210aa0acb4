package text

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxDepth bounds nesting. The specification has clients cut at 100 tags
	// (https://spec.matrix.org/v1.11/client-server-api/#mroommessage-msgtypes).
	maxDepth = 40
	// maxCells bounds the cells of all tables in a text, counted as if they were one table: a short text can declare
	// very many.
	maxCells = 20_000
	// maxGrowth bounds the plain text, as a multiple of the source: indented lines and the columns of a table make it
	// longer.
	maxGrowth = 8
)

// markdown renders the agent's text with the tags and attributes that the specification allows. HTML in it is shown as
// text.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Strikethrough, extension.Table),
	goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(formulas{}, 0)),
		parser.WithBlockParsers(util.Prioritized(formulas{}, 0))),
	goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safe{}, 0))),
)

// Render returns what Markdown that is [Visible] says: as plain text, and as HTML, "" if that adds nothing. The source
// itself is the plain text if rendering would be too expensive.
func Render(text string) (body, formatted string) {
	if cells(text) > maxCells || nesting(text) > maxDepth {
		return text, ""
	}
	source := []byte(text)
	doc := markdown.Parser().Parse(gmtext.NewReader(source))
	depth := 0
	err := ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
		} else if depth++; depth > maxDepth {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	var out bytes.Buffer
	if err == nil && depth == 0 {
		err = markdown.Renderer().Render(&out, source, doc)
	}
	if err != nil || depth > 0 {
		return text, ""
	}
	body = Visible(plain{source}.document(doc))
	if strings.TrimSpace(body) == "" || len(body) > maxGrowth*len(text) {
		body = text
	}
	formatted = strings.TrimRight(out.String(), "\n")
	if inner, ok := strings.CutPrefix(formatted, "<p>"); ok && strings.HasSuffix(inner, "</p>") &&
		!strings.Contains(inner, "<p>") {
		formatted = strings.TrimSuffix(inner, "</p>") // a single paragraph needs no tags
	}
	if formatted == string(util.EscapeHTML([]byte(body))) {
		return body, ""
	}
	return body, formatted
}

// cells returns the maximum number of cells that the tables of a text can have.
func cells(text string) int {
	lines, widest := 0, 0
	for line := range strings.Lines(text) {
		lines++
		if n := strings.Count(line, "|"); n > widest && strings.Contains(line, "-") &&
			!strings.ContainsFunc(line, unicode.IsLetter) {
			widest = n
		}
	}
	return widest * lines
}

// nesting returns the maximum depth of quotations and lists in a text: deep nesting takes too long to parse.
func nesting(text string) (most int) {
	for line := range strings.Lines(text) {
		n := 0
		for i := range len(line) {
			c := line[i]
			if !strings.ContainsRune("> \t-+*.)0123456789", rune(c)) {
				break
			}
			if c == '>' || c != ' ' && c != '\t' && (c < '0' || c > '9') && i+1 < len(line) &&
				(line[i+1] == ' ' || line[i+1] == '\t') {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// safe renders links, images, HTML, formulas and the cells of tables. Matrix clients do not show images from other
// servers, so an image becomes a link. A link that a client should not open is shown as text, and so is HTML.
type safe struct{}

func (s safe) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, s.link)
	reg.Register(ast.KindImage, s.image)
	reg.Register(ast.KindAutoLink, s.auto)
	reg.Register(ast.KindRawHTML, s.rawHTML)
	reg.Register(ast.KindHTMLBlock, s.htmlBlock)
	reg.Register(extast.KindTableCell, s.cell)
	reg.Register(kindFormula, s.formula)
	reg.Register(kindDisplay, s.formula)
}

func (safe) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		writeEscaped(w, source, node.(*ast.RawHTML).Segments)
	}
	return ast.WalkSkipChildren, nil
}

func (safe) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.HTMLBlock)
	if entering {
		writeEscaped(w, source, n.Lines())
	} else if n.HasClosure() {
		html.DefaultWriter.RawWrite(w, n.ClosureLine.Value(source))
	}
	return ast.WalkContinue, nil
}

// writeEscaped writes a piece of the source, escaped.
func writeEscaped(w util.BufWriter, source []byte, segments *gmtext.Segments) {
	for i := range segments.Len() {
		segment := segments.At(i)
		html.DefaultWriter.RawWrite(w, segment.Value(source))
	}
}

func (safe) link(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag(w, source, node, node.(*ast.Link).Destination, entering)
	return ast.WalkContinue, nil
}

func (safe) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Image)
	if entering {
		_, _ = w.WriteString("🖼 ")
	}
	tag(w, source, n, n.Destination, entering)
	return ast.WalkContinue, nil
}

func (safe) auto(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	target := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(target), []byte("mailto:")) {
		target = append([]byte("mailto:"), target...)
	}
	href := within(n, opens(target))
	begin(w, href)
	_, _ = w.Write(util.EscapeHTML(n.Label(source)))
	if href != nil {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// tag writes the start or the end of a link. For a target that cannot be opened, it writes the target after the text;
// without text, the target alone.
func tag(w util.BufWriter, source []byte, n ast.Node, target []byte, entering bool) {
	open := opens(target)
	href := within(n, open)
	if entering {
		begin(w, href)
		return
	}
	shown := string(util.EscapeHTML(target))
	if !n.HasChildren() {
		_, _ = w.WriteString(shown)
	} else if open == nil && shown != "" && !tells(plain{source}.inline(n), string(target)) {
		_, _ = w.WriteString(" (" + shown + ")")
	}
	if href != nil {
		_, _ = w.WriteString("</a>")
	}
}

// begin writes the start of a link that can be opened.
func begin(w util.BufWriter, href []byte) {
	if href != nil {
		_, _ = w.WriteString(`<a href="` + string(util.EscapeHTML(href)) + `">`)
	}
}

// within returns href, or nil inside another link, where links are not allowed.
func within(n ast.Node, href []byte) []byte {
	for up := n.Parent(); up != nil; up = up.Parent() {
		if up.Kind() == ast.KindLink || up.Kind() == ast.KindImage {
			return nil
		}
	}
	return href
}

// opens returns a link's target as an attribute, before it is escaped; nil if clients should not open it.
func opens(target []byte) []byte {
	href := util.URLEscape(target, true)
	parsed, err := url.Parse(string(href))
	if err != nil || !slices.Contains([]string{"https", "http", "ftp", "mailto", "magnet"}, parsed.Scheme) {
		return nil
	}
	return href
}
