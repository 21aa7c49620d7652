package terminal

import (
	"slices"
)

// frame is the display as it should be now; mu is held.
func (c *console) frame() frame {
	p := c.painter()
	prompt := c.prompt(p)
	height := c.screen.height - 1 - len(prompt.rows)
	if c.hint != "" {
		height--
	}
	f := frame{rows: p.tasks(c.live, max(height-2, 1))}
	if len(c.live) == 0 && len(c.waiting) > 0 {
		f.rows = []string{p.row(piece{spin(p.now), cyan})}
	}
	if len(f.rows) > 0 && height > 3 {
		f.rows = append(slices.Insert(f.rows, 0, ""), "")
	} else if height > 1 {
		f.rows = append(f.rows, "")
	}
	f.row, f.column = len(f.rows)+prompt.row, prompt.column
	f.rows = append(f.rows, prompt.rows...)
	if c.hint != "" {
		f.rows = append(f.rows, p.row(piece{"  " + oneLine(c.hint), faint}))
	}
	return f
}

// prompt is the text that is being written, or the search in the history. A
// long text is shown around the cursor; mu is held.
func (c *console) prompt(p painter) frame {
	if c.looking != nil {
		return c.looking.prompt(p)
	}
	rows, row, column := c.edit.layout(max(p.width-3, 1))
	most := max(1, min(10, c.screen.height/3))
	from := min(max(0, row-most/2), max(0, len(rows)-most))
	f := frame{row: row - from, column: column + 2}
	for i, text := range rows[from:min(len(rows), from+most)] {
		mark := "  "
		if from+i == 0 {
			mark = "› "
		}
		f.rows = append(f.rows, p.row(piece{mark, cyan})+text)
	}
	return f
}
