package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// Table is a table of a document. Rows[0] is its header; cells are text without markup.
type Table struct{ Rows [][]string }

// WideTables returns the tables that do not fit the width of a phone's chat even when
// their cells are wrapped: Telegram gets their rows as records.
func WideTables(markdown string) (list []Table) {
	if !strings.Contains(markdown, "|") {
		return nil
	}
	r := &renderer{width: telegramStyle.columns, notes: noteNumbers(markdown), refs: newReferences(markdown)}
	for _, s := range segments(markdown) {
		for n := r.parse(s.text).FirstChild(); n != nil; n = n.NextSibling() {
			t, ok := n.(*extast.Table)
			if !ok {
				continue
			}
			g := r.grid(t)
			if _, fits := g.fit(r.width); !fits {
				list = append(list, g.table())
			}
		}
	}
	return list
}

// table is a grid without looks.
func (g grid) table() (t Table) {
	for _, row := range g.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			var b strings.Builder
			for _, s := range cell {
				b.WriteString(s.text)
			}
			cells[i] = strings.TrimSpace(b.String())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
