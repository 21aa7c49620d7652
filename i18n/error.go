package i18n

import (
	"fmt"
	"strings"
)

// Error is one mistake in a folder of overrides.
type Error struct {
	File    string // path as given to Load, with what follows in the folder
	Line    int    // from 1; 0 when the mistake has no line
	Column  int    // from 1; 0 when unknown
	Key     string // of the text; empty for prompts and files
	Problem string // the mistake and the allowed values
}

// Error gives "FILE:LINE:COLUMN: KEY: PROBLEM" without the parts that are unknown.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	return b.String() + ": " + e.Problem
}
