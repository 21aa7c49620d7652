package parse

import "strings"

// cell makes a text fit into a cell of a Markdown table.
func cell(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", `\|`)), " ")
}

// row is a line of a Markdown table.
func row(cells []string) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + cell(c) + " |")
	}
	b.WriteString("\n")
	return b.String()
}

// rule is the line below the head of a Markdown table.
func rule(columns int) string { return "|" + strings.Repeat(" --- |", columns) + "\n" }

// table writes a Markdown table whose first row is its head.
func table(rows [][]string) string {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	if columns == 0 {
		return ""
	}
	if columns == 1 && len(rows) == 1 {
		return rows[0][0] // a frame around a text
	}
	var b strings.Builder
	for i, r := range rows {
		for len(r) < columns {
			r = append(r, "")
		}
		b.WriteString(row(r))
		if i == 0 {
			b.WriteString(rule(columns))
		}
	}
	return b.String()
}

// column is the name of a column of a sheet: A for 0, AA for 26.
func column(n int) string {
	name := ""
	for ; n >= 0; n = n/26 - 1 {
		name = string(rune('A'+n%26)) + name
	}
	return name
}
