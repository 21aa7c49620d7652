package conf

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Error is one mistake in a config, at its place in the file.
type Error struct {
	File    string // as it was given to Load; "environment" for variables
	Line    int    // from 1; 0 when the mistake has no place in a file
	Column  int    // in characters, from 1
	Key     string // dotted, such as "models.main.fallback[0]"; empty for the file as a whole
	Problem string // the mistake and the allowed values; never holds an expanded value
}

// Error is "file:line:column: key: problem".
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column))
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Errors holds all mistakes in the order of the file. Load and FromEnv return it as
// their error.
type Errors []Error

// Error is one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted orders mistakes by file and place and drops repetitions, which occur when an
// anchored value is used twice.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(e)
}

// within moves places behind the end of the text to its end. The YAML parser gives
// such places to missing values.
func (e Errors) within(text []byte) Errors {
	end := errorAt("", text, len(text), "")
	for i := range e {
		if e[i].Line > end.Line {
			e[i].Line, e[i].Column = end.Line, end.Column
		}
	}
	return e
}
