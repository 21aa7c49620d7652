package input

import (
	"cmp"
	"encoding/json"
	"maps"
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
// After a named line, a line without a colon continues the value.
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

// CheckFields checks the values of open fields by their names. A field without a value is
// left out. It returns the values in the order of the fields, or an error for each field
// whose value does not fit. unknown is the first name that no field has.
func CheckFields(given map[string]json.RawMessage, open []form.Field) (values []json.RawMessage, wrong []*FieldError, unknown string) {
	left := maps.Clone(given)
	for _, f := range open {
		value, ok := left[f.Name]
		delete(left, f.Name)
		var err error
		switch {
		case ok && string(value) != "null":
			err = f.Check(value)
		case cards.MayOmit(f):
			value = f.Default
		default:
			err = &form.ValueError{Key: form.Missing}
		}
		if err != nil {
			wrong = append(wrong, &FieldError{f, err})
		}
		values = append(values, value)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		return nil, wrong, name
	}
	return values, wrong, ""
}

// NamesField reports whether a text begins with the name of an open field and a colon.
func NamesField(text string, open []form.Field) bool {
	lines := filledLines(text)
	if len(lines) == 0 {
		return false
	}
	name, _, found := cutName(lines[0])
	return found && fieldNamed(name, open) >= 0
}

// cutName cuts a line "NAME: VALUE".
func cutName(line string) (name, value string, found bool) {
	name, value, found = strings.Cut(strings.Replace(line, "：", ":", 1), ":")
	return strings.TrimSpace(name), strings.TrimSpace(value), found
}

// fieldNamed is the index of the field with a name or a title; -1 for none.
func fieldNamed(name string, open []form.Field) int {
	return slices.IndexFunc(open, func(f form.Field) bool {
		return strings.EqualFold(name, f.Name) || strings.EqualFold(name, cards.NameOfField(f))
	})
}

// namedLines reads lines of the form "NAME: VALUE". It returns the values up to the
// last named field, empty ones for fields without a line, and the first name that no
// field has. A line without a colon continues the value of the named line above. There
// are no values when no such line is above, or when no line names a field.
func namedLines(text string, open []form.Field) (values []string, unknown string) {
	last := -1 // the field of the line above
	for _, line := range filledLines(text) {
		name, value, found := cutName(line)
		i := fieldNamed(name, open)
		switch {
		case !found && last < 0:
			return nil, ""
		case !found:
			values[last] += "\n" + line
			continue
		case i < 0:
			unknown = cmp.Or(unknown, name)
			continue
		}
		for len(values) <= i {
			values = append(values, "")
		}
		values[i], last = value, i
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
