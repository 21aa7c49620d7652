package write

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Workbook is a file of sheets.
type Workbook struct {
	Sheets []Sheet `json:"sheets"`
}

// Sheet is a table with a header in row 1; its rows begin at row 2. Without
// columns there is no header, and the rows begin at row 1.
type Sheet struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns,omitempty"`
	// Rows hold text, numbers, true, false, null, or {"formula": "SUM(B2:B9)"},
	// with "value" beside it where the result is known, for viewers that do not
	// compute. Text is never a formula. A row may be shorter than there are columns.
	Rows [][]any `json:"rows"`
	// FreezeColumns at the left stay in view; the header always does.
	FreezeColumns int `json:"freeze_columns,omitempty"`
	// Charts stand beside the table. A series is named like a column and shows its
	// numbers; the first column has the labels. Labels and values are left out.
	Charts []Chart `json:"charts,omitempty"`
}

// Column is a column of a sheet.
type Column struct {
	Title string `json:"title"`
	// Type is text, number, date, percent, currency or boolean; empty: each cell
	// as it is. Dates are 2026-01-31 or 2026-01-31 15:04; of percent, 0.25 is 25%.
	Type string `json:"type,omitempty"`
	// Width in characters; 0: by content.
	Width float64 `json:"width,omitempty"`
	// Format is a number format of Excel such as 0.00, or for currency a code or
	// sign such as EUR or €.
	Format string `json:"format,omitempty"`
}

// Spreadsheet writes a workbook as xlsx, or its only sheet as csv.
func Spreadsheet(w io.Writer, kind string, b Workbook, o Options) error {
	if kind != XLSX && kind != CSV {
		return &KindError{Kind: kind, Known: []string{XLSX, CSV}}
	}
	if err := b.check(); err != nil {
		return err
	}
	w = &limited{w: w, left: MaxBytes}
	if kind == CSV {
		return writeCSV(w, b)
	}
	return writeXLSX(w, b, o)
}

// check refuses what no kind of sheet can hold.
func (b Workbook) check() error {
	if len(b.Sheets) == 0 {
		return &TableError{Where: "sheets", Reason: "there is none"}
	}
	if len(b.Sheets) > MaxSheets {
		return &TooLargeError{What: "sheets", Limit: MaxSheets, Got: len(b.Sheets)}
	}
	all := 0
	for _, s := range b.Sheets {
		where := "sheet " + strconv.Quote(s.Name)
		if s.width() > MaxColumns {
			return &TooLargeError{What: "columns", Where: where, Limit: MaxColumns, Got: s.width()}
		}
		if len(s.Rows)+s.first()-1 > MaxRows {
			return &TooLargeError{What: "rows", Where: where, Limit: MaxRows, Got: len(s.Rows) + s.first() - 1}
		}
		all += s.width() * len(s.Rows)
		if s.width() == 0 {
			return &TableError{Where: where, Reason: "it has neither columns nor rows"}
		}
		for i, c := range s.Columns {
			if !strings.Contains(" text number date percent currency boolean ", " "+c.Type+" ") && c.Type != "" {
				return &TableError{Where: fmt.Sprintf("%s, column %d", where, i+1), Reason: fmt.Sprintf("there is no type %q: take text, number, date, percent, currency or boolean", c.Type)}
			}
		}
		for i, row := range s.Rows {
			if len(s.Columns) > 0 && len(row) > len(s.Columns) {
				return &TableError{Where: fmt.Sprintf("%s, row %d", where, i+1), Reason: fmt.Sprintf("it has %d cells, but there are %d columns", len(row), len(s.Columns))}
			}
		}
	}
	if all > MaxCells {
		return &TooLargeError{What: "cells", Limit: MaxCells, Got: all}
	}
	return nil
}

func (s Sheet) width() int {
	n := len(s.Columns)
	for _, row := range s.Rows {
		n = max(n, len(row))
	}
	return n
}

// first is the number of the row with the first of Rows.
func (s Sheet) first() int {
	if len(s.Columns) > 0 {
		return 2
	}
	return 1
}

func (s Sheet) column(i int) Column {
	if i < len(s.Columns) {
		return s.Columns[i]
	}
	return Column{}
}

type valueKind int

const (
	isEmpty valueKind = iota
	isText
	isNumber
	isBoolean
	isFormula
)

// value is a cell in the type of its column.
type value struct {
	kind   valueKind
	text   string // of text, of a formula without =, and of a number as it was written
	number float64
	truth  bool
	date   bool // the number is a date, counted as Excel does
	clock  bool // the date has a time
	result any  // of a formula, if known
}

// read turns a cell of a tool call into a value. What does not fit the column's type
// stays as it is: "n/a" among numbers is text.
func read(cell any, columnType string) (value, error) {
	switch c := cell.(type) {
	case nil:
		return value{}, nil
	case bool:
		return value{kind: isBoolean, truth: c}, nil
	case float64:
		return number(c, strconv.FormatFloat(c, 'f', -1, 64), columnType), nil
	case int:
		return number(float64(c), strconv.Itoa(c), columnType), nil
	case json.Number:
		if n, err := c.Float64(); err == nil && (len(strings.Trim(c.String(), "-0.")) <= 15 || strings.ContainsAny(c.String(), ".eE")) {
			return number(n, c.String(), columnType), nil
		}
		return value{kind: isText, text: c.String()}, nil // Excel keeps 15 digits
	case string:
		return ofText(clean(c), columnType)
	case map[string]any:
		formula, ok := c["formula"].(string)
		if !ok {
			return value{}, fmt.Errorf(`a cell is text, a number, true, false, null or {"formula": "..."}`)
		}
		formula = strings.TrimPrefix(strings.TrimSpace(clean(formula)), "=")
		switch c["value"].(type) {
		case nil, string, float64, json.Number, bool:
		default:
			return value{}, fmt.Errorf("the value of a formula is text, a number, true or false")
		}
		return value{kind: isFormula, text: formula, result: c["value"]}, nil
	}
	return value{}, fmt.Errorf(`a cell is text, a number, true, false, null or {"formula": "..."}, not %T`, cell)
}

func number(n float64, text, columnType string) value {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return value{}
	}
	if columnType == "text" { // such as a postcode
		return value{kind: isText, text: text}
	}
	return value{kind: isNumber, number: n, text: text}
}

var plainNumber = regexp.MustCompile(`^[+-]?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]+)?$`)

func ofText(text, columnType string) (value, error) {
	if utf8.RuneCountInString(text) > MaxCell {
		return value{}, fmt.Errorf("the text has more than %d characters", MaxCell)
	}
	bare := strings.TrimSpace(text)
	switch columnType {
	case "number", "percent", "currency":
		digits, isPercent := strings.CutSuffix(bare, "%")
		if columnType == "currency" {
			digits = strings.TrimSpace(strings.Trim(digits, "€$£¥₽₹"))
		}
		if plainNumber.MatchString(digits) {
			n, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
			if isPercent {
				n /= 100
			}
			if err == nil {
				return value{kind: isNumber, number: n, text: strconv.FormatFloat(n, 'f', -1, 64)}, nil
			}
		}
	case "boolean":
		if truth, err := strconv.ParseBool(strings.ToLower(bare)); err == nil && len(bare) > 1 {
			return value{kind: isBoolean, truth: truth}, nil
		}
	case "date":
		for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, "2006-01-02T15:04:05", time.RFC3339} {
			if t, err := time.Parse(layout, bare); err == nil && t.Year() > 1900 && t.Year() < 10000 {
				_, offset := t.Zone()
				days := float64(t.Unix()+int64(offset))/86400 + 25569 // 1970-01-01
				return value{kind: isNumber, number: days, text: bare, date: true, clock: layout != time.DateOnly}, nil
			}
		}
	}
	if text == "" {
		return value{}, nil
	}
	return value{kind: isText, text: text}, nil
}

// sheetNames makes names valid and unique by the rules of Excel.
func sheetNames(sheets []Sheet) []string {
	taken := map[string]bool{"history": true} // reserved
	var names []string
	for i, s := range sheets {
		base := strings.Map(func(r rune) rune {
			if strings.ContainsRune(`[]:*?/\`, r) || r == '\n' || r == '\t' {
				return ' '
			}
			return r
		}, clean(s.Name))
		base = strings.Trim(strings.Join(strings.Fields(base), " "), "' ")
		if base == "" {
			base = fmt.Sprintf("Sheet%d", i+1)
		}
		name := short(base, 31)
		for n := 2; taken[strings.ToLower(name)]; n++ {
			suffix := fmt.Sprintf(" (%d)", n)
			name = short(base, 31-len(suffix)) + suffix
		}
		taken[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// short returns the beginning of text in at most n units of UTF-16.
func short(text string, n int) string {
	length := 0
	for i, r := range text {
		if length += utf16.RuneLen(r); length > n {
			return strings.TrimRight(text[:i], "' ")
		}
	}
	return text
}
