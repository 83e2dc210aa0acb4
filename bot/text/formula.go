package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxFormula bounds a formula, in bytes.
const maxFormula = 2000

var (
	kindFormula = ast.NewNodeKind("Formula")
	kindDisplay = ast.NewNodeKind("DisplayFormula")
)

// formula is LaTeX in a line of text: $…$, $$…$$ or \(…\).
type formula struct {
	ast.BaseInline
	tex gmtext.Segment
}

func (*formula) Kind() ast.NodeKind            { return kindFormula }
func (n *formula) Dump(source []byte, lvl int) { ast.DumpHelper(n, source, lvl, nil, nil) }

// display is LaTeX in lines of its own: $$…$$ or \[…\].
type display struct {
	ast.BaseBlock
	closer string // "" after it was read
}

func (*display) Kind() ast.NodeKind            { return kindDisplay }
func (n *display) Dump(source []byte, lvl int) { ast.DumpHelper(n, source, lvl, nil, nil) }

// IsRaw keeps the parser from looking for Markdown in it.
//
//lint:hides a block is not raw by itself
func (*display) IsRaw() bool { return true }

// formulas finds both kinds.
type formulas struct{}

func (formulas) Trigger() []byte { return []byte{'$', '\\'} }

// Parse finds a formula in a line. A price is none: after the second $ of a formula there is no letter or digit, and
// next to its text there is no space.
func (formulas) Parse(_ ast.Node, block gmtext.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	line = line[:min(len(line), maxFormula)]
	opener, closer := "$", "$"
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		opener, closer = "$$", "$$"
	case bytes.HasPrefix(line, []byte(`\(`)):
		opener, closer = `\(`, `\)`
	case line[0] != '$':
		return nil
	}
	rest := line[len(opener):]
	end := bytes.Index(rest, []byte(closer))
	if end < 1 || !mathematical(string(rest[:end])) {
		return nil
	}
	after := rest[end+len(closer):]
	if closer == "$" {
		next, _ := utf8.DecodeRune(after)
		before := block.PrecendingCharacter()
		if rest[0] == ' ' || rest[end-1] == ' ' || alphanumeric(next) || alphanumeric(before) || next == '$' {
			return nil
		}
	}
	block.Advance(len(line) - len(after))
	start := segment.Start + len(opener)
	return &formula{tex: gmtext.NewSegment(start, start+end)}
}

func alphanumeric(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// mathematical reports whether a text between the marks of a formula is one, and not words between two prices.
func mathematical(tex string) bool {
	if strings.ContainsAny(tex, `\^_={}<>`) {
		return true
	}
	letters := 0
	for _, r := range tex {
		if letters++; !unicode.IsLetter(r) {
			letters = 0
		}
		if letters > 2 {
			return false
		}
	}
	return strings.ContainsAny(tex, "+-*/|(") || len(tex) <= 3 && !strings.Contains(tex, " ")
}

// Open finds a formula that begins and ends with a line, and has no empty one in it.
func (formulas) Open(_ ast.Node, reader gmtext.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	trimmed := bytes.TrimLeft(line, " \t")
	closer := "$$"
	if bytes.HasPrefix(trimmed, []byte(`\[`)) {
		closer = `\]`
	} else if !bytes.HasPrefix(trimmed, []byte("$$")) {
		return nil, parser.NoChildren
	}
	at := segment.Start - segment.Padding + len(line) - len(trimmed) + 2
	source := reader.Source()[at:]
	tex, rest, ok := bytes.Cut(source[:min(len(source), maxFormula)], []byte(closer))
	following, _, _ := bytes.Cut(rest, []byte("\n"))
	if !ok || len(bytes.TrimSpace(following)) > 0 || !mathematical(string(tex)) || bytes.Contains(tex, []byte("\n\n")) {
		return nil, parser.NoChildren
	}
	n := &display{closer: closer}
	n.take(line, segment.WithStart(at), closer)
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

// take adds a line, of which only text belongs to the formula.
func (n *display) take(line []byte, text gmtext.Segment, closer string) {
	if trimmed := bytes.TrimRight(line, " \t\r\n"); text.Start < text.Stop && bytes.HasSuffix(trimmed, []byte(closer)) {
		if stop := text.Stop - (len(line) - len(trimmed)) - len(closer); stop >= text.Start {
			text, n.closer = text.WithStop(stop), ""
		}
	}
	n.Lines().Append(text)
}

// Continue adds the next line.
func (formulas) Continue(node ast.Node, reader gmtext.Reader, _ parser.Context) parser.State {
	n := node.(*display)
	line, segment := reader.PeekLine()
	if n.closer == "" || line == nil {
		return parser.Close
	}
	n.take(line, segment, n.closer)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (formulas) Close(ast.Node, gmtext.Reader, parser.Context) {}
func (formulas) CanInterruptParagraph() bool                   { return true }
func (formulas) CanAcceptIndentedLine() bool                   { return false }

// formula writes LaTeX as the specification has it, with itself as the fallback
// (https://spec.matrix.org/v1.11/client-server-api/#mathematical-messages).
func (safe) formula(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	tag, tex := "span", []byte(nil)
	if n, ok := node.(*formula); ok {
		tex = n.tex.Value(source)
	} else {
		tag, tex = "div", node.Lines().Value(source)
	}
	tex = bytes.TrimSpace(tex)
	_, _ = w.WriteString("<" + tag + ` data-mx-maths="`)
	html.DefaultWriter.RawWrite(w, tex)
	_, _ = w.WriteString(`"><code>`)
	html.DefaultWriter.RawWrite(w, tex)
	_, _ = w.WriteString("</code></" + tag + ">")
	if tag == "div" {
		_ = w.WriteByte('\n')
	}
	return ast.WalkContinue, nil
}
