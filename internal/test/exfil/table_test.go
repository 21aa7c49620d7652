package exfil

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
)

// table counts what became of the calls of each way in and way out.
type table struct {
	ins  []wayIn
	outs []wayOut

	mu    sync.Mutex
	cells [][]cell
}

type cell struct{ asked, refused, out int }

func newTable(ins []wayIn, outs []wayOut) *table {
	t := &table{ins: ins, outs: outs, cells: make([][]cell, len(ins))}
	for i := range t.cells {
		t.cells[i] = make([]cell, len(outs))
	}
	return t
}

func (t *table) add(in, out int, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.cells[in][out]
	c.asked, c.refused, c.out = c.asked+o.asked, c.refused+o.refused, c.out+len(o.out)
}

// String is the table with a row for each way in and a column for each way out. A cell
// has the number of calls that were asked about, refused, and out.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	var all cell
	fmt.Fprintln(&b, "asked/refused/out for each way in (rows) and way out (columns):")
	for j, o := range t.outs {
		fmt.Fprintf(&b, "%3d %s\n", j+1, o.name)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	for j := range t.outs {
		fmt.Fprintf(w, "\t%d", j+1)
	}
	fmt.Fprintln(w)
	for i, in := range t.ins {
		fmt.Fprint(w, in.name)
		for _, c := range t.cells[i] {
			fmt.Fprintf(w, "\t%d/%d/%d", c.asked, c.refused, c.out)
			all = cell{all.asked + c.asked, all.refused + c.refused, all.out + c.out}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder takes all
	fmt.Fprintf(&b, "%d ways in, %d ways out, %d spellings: %d asked, %d refused, %d out", len(t.ins), len(t.outs), len(spellings), all.asked, all.refused, all.out)
	return b.String()
}
