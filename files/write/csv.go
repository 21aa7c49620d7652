package write

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// writeCSV writes the only sheet by RFC 4180, with the byte order mark by which
// Excel knows UTF-8.
//
// A program for sheets takes a cell as a formula when it begins with =, +, -, @, a
// tab or a line break, or with a wide form of these. As OWASP advises
// (owasp.org/www-community/attacks/CSV_Injection), such a cell begins with an
// apostrophe here and stands in quotes. Numbers such as -5 stay numbers.
func writeCSV(w io.Writer, b Workbook) error {
	if len(b.Sheets) > 1 {
		return &TableError{Where: "sheets", Reason: fmt.Sprintf("a CSV file has one sheet, not %d: take xlsx, or a file for each", len(b.Sheets))}
	}
	s := b.Sheets[0]
	out := bufio.NewWriter(w)
	line := func(cells []string) {
		_, _ = out.WriteString(strings.Join(cells, ",") + "\r\n") // Flush returns the error
	}
	_, _ = out.WriteString("\uFEFF")
	width := s.width()
	if len(s.Columns) > 0 {
		titles := make([]string, width)
		for i, c := range s.Columns {
			titles[i] = csvText(clean(c.Title))
		}
		line(titles)
	}
	cells := make([]string, width)
	for i, row := range s.Rows {
		clear(cells)
		for j, cell := range row {
			v, err := read(cell, s.column(j).Type)
			if err == nil && v.kind == isFormula {
				err = checkFormula(v.text, nil)
			}
			if err != nil {
				return &TableError{Where: cellName(s.Name, j, i+s.first()), Reason: err.Error()}
			}
			switch v.kind {
			case isEmpty:
			case isText:
				cells[j] = csvText(v.text)
			case isNumber:
				cells[j] = v.text
			case isBoolean:
				cells[j] = strings.ToUpper(strconv.FormatBool(v.truth))
			case isFormula:
				cells[j] = quoteCSV("=" + v.text)
			}
		}
		line(cells)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func csvText(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if strings.ContainsRune("=+-@\t\n＝＋－＠", first) && !plainNumber.MatchString(text) {
		return `"'` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return quoteCSV(text)
}

func quoteCSV(text string) string {
	if !strings.ContainsAny(text, "\",\n\t;") && strings.TrimSpace(text) == text {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}
