package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// table shows a table: as rows of cells where the platform has such tables, as
// columns of a code block where they fit and hold nothing but text, and else
// one line per cell, each row a paragraph of its own.
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
	if total > f.style.columns || g.rich() {
		f.entries(g)
		return
	}
	f.codes = append(f.codes, "")
	for _, text := range g.lines(widths) {
		row := strings.TrimRight(spansText(text), " ")
		f.emit(line{kind: codeLine, block: len(f.codes), spans: []span{{row, code}}})
	}
}

// fitsSlack reports whether Slack shows g as a table whose head can be repeated
// and whose rows need not be cut.
func (f *flow) fitsSlack(g grid) bool {
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

// rich reports whether a table holds what columns of plain text cannot show.
func (g grid) rich() bool {
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

// entries shows each row as lines of "header: value".
func (f *flow) entries(g grid) {
	head := g.rows[0]
	if len(g.rows) == 1 {
		for _, cell := range head {
			f.paragraph(cell, 0)
		}
	}
	for i, row := range g.rows[1:] {
		if i > 0 {
			f.gap()
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
			f.paragraph(append(text, cell...), 0)
		}
	}
}
