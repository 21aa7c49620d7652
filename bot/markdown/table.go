package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumn is the narrowest that a column becomes; a table that would need
// narrower ones is shown as records.
const minColumn = 6

// grid is a table whose cells are laid out as spans.
type grid struct {
	align []extast.Alignment
	rows  [][][]span // the first one is the header
}

// table renders a table with aligned columns; if it is too wide, each
// row becomes a record of "header: value" lines.
func (r *renderer) table(n *extast.Table) {
	g := r.grid(n)
	widths, ok := g.fit(r.room())
	if !ok {
		g.records(r.emitText, r.gap)
		return
	}
	for _, line := range g.lines(widths) {
		r.emit(line)
	}
}

// grid reads the cells of a table.
func (r *renderer) grid(n *extast.Table) grid {
	g := grid{align: n.Alignments}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		l := look(0)
		if _, ok := row.(*extast.TableHeader); ok {
			l = bold
		}
		var cells [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inlines(cell, l))
		}
		if rest := r.extraCells(row); rest != "" {
			add(&cells[len(cells)-1], span{" | " + rest, l})
		}
		g.rows = append(g.rows, cells)
	}
	return g
}

// lines are the rows of the table and the ruler below its head.
func (g grid) lines(widths []int) [][]span {
	var all [][]span
	for i, row := range g.rows {
		all = append(all, rowLines(row, g.align, widths)...)
		if i == 0 {
			all = append(all, ruler(widths))
		}
	}
	return all
}

// extraCells is the text of a row beyond the columns of the table; the parser
// drops it.
func (r *renderer) extraCells(row ast.Node) string {
	cell := row.LastChild()
	if cell == nil || cell.Lines().Len() == 0 {
		return ""
	}
	from := cell.Lines().At(0).Stop
	rest := r.src[from:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return oneLine(strings.Trim(string(rest), "| \t"))
}

// fit chooses the width of each column, so that the table takes at most room
// columns; 0 means no limit.
func (g grid) fit(room int) (widths []int, ok bool) {
	widths = make([]int, len(g.align))
	for _, row := range g.rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			for _, line := range wrap(cell, 0) {
				widths[i] = max(widths[i], lineWidth(line), 1)
			}
		}
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if room == 0 || total <= room {
		return widths, true
	}
	return widths, shrink(widths, room-3*(len(widths)-1))
}

// shrink takes from the widest columns until their sum is room. It reports
// whether no column had to become too narrow.
func shrink(widths []int, room int) bool {
	least := 0
	for _, w := range widths {
		least += min(w, minColumn)
	}
	if least > room {
		return false
	}
	low, high := minColumn, room
	for low < high { // the largest cap under which the columns fit
		limit, sum := (low+high+1)/2, 0
		for _, w := range widths {
			sum += min(w, limit)
		}
		if sum <= room {
			low = limit
		} else {
			high = limit - 1
		}
	}
	spare := room
	for _, w := range widths {
		spare -= min(w, low)
	}
	for i, w := range widths {
		widths[i] = min(w, low)
		if w > low && spare > 0 {
			widths[i]++
			spare--
		}
	}
	return true
}

// rowLines are one row, as many lines high as its highest cell.
func rowLines(cells [][]span, align []extast.Alignment, widths []int) [][]span {
	wrapped := make([][][]span, len(widths))
	height := 1
	for i := range widths {
		if i < len(cells) {
			wrapped[i] = wrap(cells[i], widths[i])
			height = max(height, len(wrapped[i]))
		}
	}
	lines := make([][]span, height)
	for y := range height {
		var line []span
		for i, width := range widths {
			if i > 0 {
				line = append(line, span{" │ ", dim})
			}
			var cell []span
			if y < len(wrapped[i]) {
				cell = wrapped[i][y]
			}
			left, right := pad(width-lineWidth(cell), align[i])
			line = append(line, span{text: left})
			line = append(line, cell...)
			line = append(line, span{text: right})
		}
		lines[y] = line
	}
	return lines
}

// pad splits the free columns of a cell by its alignment.
func pad(free int, a extast.Alignment) (left, right string) {
	free = max(free, 0)
	n := 0
	switch a {
	case extast.AlignRight:
		n = free
	case extast.AlignCenter:
		n = free / 2
	}
	return strings.Repeat(" ", n), strings.Repeat(" ", free-n)
}

// ruler is the line below the header.
func ruler(widths []int) []span {
	var b strings.Builder
	for i, w := range widths {
		if i > 0 {
			b.WriteString("─┼─")
		}
		b.WriteString(strings.Repeat("─", w))
	}
	return []span{{b.String(), dim}}
}

// records shows each row of a table as lines of "header: value"; show shows one of
// them, and gap a blank line.
func (g grid) records(show func([]span), gap func()) {
	head := g.rows[0]
	if len(g.rows) == 1 {
		for _, cell := range head {
			show(cell)
		}
	}
	for i, row := range g.rows[1:] {
		if i > 0 {
			gap()
		}
		for j, cell := range row {
			if len(cell) == 0 && i > 0 {
				continue
			}
			var text []span
			if j < len(head) && len(head[j]) > 0 {
				text = append(text, head[j]...)
				text = append(text, span{": ", bold})
			}
			show(append(text, cell...))
		}
	}
}

// table shows a table: as rows of cells if the platform has tables, as columns of
// a code block if they fit and hold only text, and otherwise with one line per
// cell, each row as a paragraph.
func (f *flow) table(n *extast.Table) {
	g := f.grid(n)
	if f.style.cells && f.fitsSlack(g) {
		f.tables++
		for _, cell := range g.rows[0] {
			for i := range cell {
				cell[i].look &^= bold // a head is bold by itself
			}
		}
		for _, row := range g.rows {
			f.emit(line{kind: rowLine, block: f.tables, cells: row, align: g.align})
		}
		return
	}
	widths, _ := g.fit(0)
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > f.style.columns || g.hasMarkup() {
		g.records(func(spans []span) { f.paragraph(spans, 0) }, f.gap)
		return
	}
	f.codes = append(f.codes, "")
	for _, text := range g.lines(widths) {
		row := strings.TrimRight(spansText(text), " ")
		f.emit(line{kind: codeLine, block: len(f.codes), spans: []span{{row, code}}})
	}
}

// fitsSlack reports whether Slack shows g as a table whose head can be repeated
// and whose rows need not be cut. A rich message of Telegram has the same limit of
// columns alone.
func (f *flow) fitsSlack(g grid) bool {
	if f.style.rich {
		return len(g.align) <= maxTableColumns
	}
	limit := slackHead
	for _, row := range g.rows {
		n := 0
		for _, cell := range row {
			for _, s := range cell {
				n += f.cost(s)
			}
		}
		if n > limit {
			return false
		}
		limit = slackLine
	}
	return len(g.align) <= maxTableColumns && len(g.rows) <= maxTableRows
}

// hasMarkup reports whether a table has markup that plain columns cannot show.
func (g grid) hasMarkup() bool {
	for _, row := range g.rows {
		for _, cell := range row {
			for _, s := range cell {
				if s.look>>markShift != 0 || s.look&strike != 0 {
					return true
				}
			}
		}
	}
	return false
}
