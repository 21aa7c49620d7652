package input

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/internal/form"
	"legwork/tasks/cards"
)

// FieldError is the error of a value that does not fit its field.
type FieldError struct {
	Field form.Field
	Err   error // of form.Field.Read
}

func (e *FieldError) Error() string { return e.Field.Name + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// NameError is the error of a line that names no open field.
type NameError struct{ Name string }

func (e *NameError) Error() string { return "no open field is named " + strconv.Quote(e.Name) }

// ReadFields reads the values of open fields, from the first one on, out of one text.
// The text has one line "NAME: VALUE" for each field that it answers, or one line
// with a value for each open field; any other text is the value of the first field.
// Fields that may be left out, and that stand before the last named one, are left
// out. The error is a *FieldError or a *NameError.
func ReadFields(text string, open []form.Field, zone *time.Location) ([]json.RawMessage, error) {
	written := []string{text}
	if named, unknown := namedLines(text, open); len(named) > 0 {
		if unknown != "" {
			return nil, &NameError{unknown}
		}
		written = named
	} else if lines := filledLines(text); len(lines) > 1 && len(lines) == len(open) {
		written = lines
	}
	values := make([]json.RawMessage, len(written))
	for i, one := range written {
		if one == "" && cards.MayOmit(open[i]) {
			values[i] = open[i].Default
			continue
		}
		var err error
		if values[i], err = open[i].Read(one, zone); err != nil {
			return nil, &FieldError{open[i], err}
		}
	}
	return values, nil
}

// namedLines reads lines of the form "NAME: VALUE". It returns the values up to the
// last named field, empty ones for fields without a line, and the first name that no
// field has. It returns no values when a line has another form, or when no line names
// a field.
func namedLines(text string, open []form.Field) (values []string, unknown string) {
	for _, line := range filledLines(text) {
		name, value, found := strings.Cut(strings.Replace(line, "：", ":", 1), ":")
		if !found {
			return nil, ""
		}
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(open, func(f form.Field) bool {
			return strings.EqualFold(name, f.Name) || f.Title != "" && strings.EqualFold(name, f.Title)
		})
		if i < 0 {
			unknown = cmp.Or(unknown, name)
			continue
		}
		for len(values) <= i {
			values = append(values, "")
		}
		values[i] = strings.TrimSpace(value)
	}
	return values, unknown
}

// filledLines lists the lines of a text that are not empty.
func filledLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// RestOmitted are the values of open fields that are all left out. ok is false when
// one of them is needed.
func RestOmitted(open []form.Field) (values []json.RawMessage, ok bool) {
	for _, f := range open {
		if !cards.MayOmit(f) {
			return nil, false
		}
		values = append(values, f.Default)
	}
	return values, len(values) > 0
}
