package write

import (
	"fmt"
	"strings"
)

// A KindError reports a kind of file that is not made.
type KindError struct {
	Kind  string
	Known []string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("there is no kind %q: known are %s", e.Kind, strings.Join(e.Known, ", "))
}

// A TooLargeError reports more than a limit allows. Got is zero where the whole
// is not known.
type TooLargeError struct {
	What       string // such as "rows"
	Where      string // such as a sheet's name, or empty
	Limit, Got int
}

func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("too many %s", e.What)
	if e.Where != "" {
		text += " in " + e.Where
	}
	if e.Got != 0 {
		text += fmt.Sprintf(": %d", e.Got)
	}
	return fmt.Sprintf("%s, the limit is %d", text, e.Limit)
}

// A TableError reports a table or a chart that cannot be made as it is.
type TableError struct {
	Where  string // such as "Sheet1!B3" or "series 2"
	Reason string
}

func (e *TableError) Error() string { return e.Where + ": " + e.Reason }

// A FontError reports text that no font here can show. A DOCX needs no font, so
// that it can be offered.
type FontError struct {
	Script  string // such as "Han"
	Sample  string // a few of the characters
	Package string // a package of Debian that has a font, or empty
	// Unshaped tells that fonts do not help: the letters of the script change with
	// their neighbours, which is done for Arabic only.
	Unshaped bool
}

func (e *FontError) Error() string {
	if e.Unshaped {
		return fmt.Sprintf("the letters of the script %s (%s) cannot be joined here: make a DOCX", e.Script, e.Sample)
	}
	text := fmt.Sprintf("no font for the script %s (%s)", e.Script, e.Sample)
	if e.Package != "" {
		text += ": install " + e.Package + ", or"
	} else {
		text += ":"
	}
	return text + " put a .ttf file into a folder of files.fonts, or make a DOCX"
}

// A PictureError reports a picture that a document names and that cannot be shown.
type PictureError struct {
	Name string
	Err  error
}

func (e *PictureError) Error() string { return fmt.Sprintf("picture %q: %v", e.Name, e.Err) }

func (e *PictureError) Unwrap() error { return e.Err }
