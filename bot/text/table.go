package text

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"matrix-tui/state/clean"
)

const (
	// phone is how many characters a phone shows in a line of code.
	phone = 40
	// maxLabel bounds the name of a column where it is repeated in every row.
	maxLabel = 40
)

// table writes a narrow table in columns. In a wide one, each row becomes a paragraph of lines: "column: cell".
func (p plain) table(n *extast.Table) string {
	var rows [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			said := strings.TrimSpace(strings.ReplaceAll(p.inline(cell), "\n", " "))
			if len(cells) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], utf8.RuneCountInString(said))
			cells = append(cells, said)
		}
		rows = append(rows, cells)
	}
	total := 0
	for _, width := range widths {
		total += width + 2
	}
	if total-2 > phone && len(rows) > 1 {
		return stacked(rows)
	}
	var out []string
	for _, cells := range rows {
		var line strings.Builder
		for i, said := range cells {
			line.WriteString(said + strings.Repeat(" ", widths[i]+2-utf8.RuneCountInString(said)))
		}
		out = append(out, strings.TrimRight(line.String(), " "))
	}
	return strings.Join(out, "\n")
}

// stacked writes the rows of a table below each other, without empty cells; the first has the names of the columns. The
// first paragraph has all of them in full.
func stacked(rows [][]string) string {
	var out []string
	for n, cells := range rows[1:] {
		var lines []string
		for i, said := range cells {
			label := rows[0][i]
			if n > 0 {
				label = clean.Short(label, maxLabel)
			}
			if label != "" && (said != "" || n == 0) {
				said = strings.TrimSpace(label + ": " + said)
			}
			if said != "" {
				lines = append(lines, said)
			}
		}
		out = append(out, strings.Join(lines, "\n"))
	}
	return strings.Join(out, "\n\n")
}

// cell writes a cell of a table. Some clients do not know tables and show the text of all cells in one line: each cell
// therefore ends with a line break, which a table does not show, and the first of a row is bold.
func (safe) cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	name := "td"
	if n.Parent().Kind() == extast.KindTableHeader {
		name = "th"
	}
	begin, end := "<"+name+">", "</"+name+">\n"
	if n.HasChildren() {
		end = "<br>" + end
		if name == "td" && n.PreviousSibling() == nil {
			begin, end = begin+"<strong>", "</strong>"+end
		}
	}
	if !entering {
		begin = end
	}
	_, _ = w.WriteString(begin)
	return ast.WalkContinue, nil
}
