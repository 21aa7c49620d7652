package conf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// markForm is the form of marks in a hidden text.
var markForm = regexp.MustCompile(`«hidden:[0-9a-f]{8}»`)

// NewMark is the mark with a name of 8 digits in hexadecimal.
func NewMark(name string) string { return "«hidden:" + name + "»" }

// Restored is a text in which secrets stand again in place of their marks.
type Restored struct {
	Text string
	put  []restoredPart
}

// restoredPart is a mark that was replaced.
type restoredPart struct {
	name, text   string // the mark, and what stands in its place
	line, column int    // in the text with marks, in characters
	from, to     int    // in Text, in bytes
	more         int    // by how many characters the secret is longer than the mark
}

// Restore puts the secrets back into a text that a person has edited. known finds a
// mark. A mark is a mistake when it is unknown or stands at another key than its secret:
// then it would show the secret, or send it to another place. The mistakes have their
// places in the text with marks.
func Restore(file, text string, known func(mark string) (Mark, bool)) (Restored, Errors) {
	var out strings.Builder
	var r Restored
	var errs Errors
	end := 0
	for _, at := range markForm.FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		place := errorAt(file, []byte(text), at[0], "")
		m, ok := known(name)
		if !ok {
			place.Problem = name + " stands for no secret of this file; write the secret in its place, or a reference such as ${NAME}"
			errs = append(errs, place)
			continue
		}
		out.WriteString(text[end:at[0]])
		from := out.Len()
		out.WriteString(m.text)
		end = at[1]
		r.put = append(r.put, restoredPart{name, m.text, place.Line, place.Column, from, out.Len(), utf8.RuneCountInString(m.text) - utf8.RuneCountInString(name)})
	}
	out.WriteString(text[end:])
	r.Text = out.String()
	root, syntax := parse(file, []byte(text))
	if syntax != nil {
		return r, append(errs, syntax.within([]byte(text))...).sorted()
	}
	return r, append(errs, misplaced(file, root, known)...).sorted()
}

// misplaced lists the marks that stand at another key than their secrets.
func misplaced(file string, root *yaml.Node, known func(mark string) (Mark, bool)) (errs Errors) {
	values, _ := leaves(root)
	for _, l := range values {
		for _, name := range markForm.FindAllString(l.Value, -1) {
			if m, ok := known(name); ok && !slices.Contains(m.keys, withoutIndexes(l.key())) {
				belongs := "in a comment"
				if len(m.keys) > 0 {
					belongs = "at " + m.keys[0]
				}
				errs = append(errs, Error{file, l.Line, l.Column, l.key(), name + " stands for a secret " + belongs + "; write the secret in its place, or a reference such as ${NAME}"})
			}
		}
	}
	eachNode(root, func(n *yaml.Node, isKey bool) {
		if name := markForm.FindString(n.Value); isKey && name != "" {
			errs = append(errs, Error{file, n.Line, n.Column, "", name + " stands for a secret, which cannot be a key"})
		}
	})
	return errs
}

// Shows lists the secrets that were put back where d would not hide them again, such as
// in a comment, with their places in the text with marks. d is the draft of r.Text.
func (r Restored) Shows(file string, d Draft) (errs Errors) {
	hidden := d.spans()
	for _, p := range r.put {
		if !slices.ContainsFunc(hidden, func(s span) bool { return s.from <= p.from && p.to <= s.to }) {
			errs = append(errs, Error{file, p.line, p.column, "", "the secret would be shown here; remove it, or write a reference such as ${NAME} in its place"})
		}
	}
	return errs
}

// Place returns errors of the restored text with their places in the text with marks, and
// with marks in place of secrets in their texts.
func (r Restored) Place(file string, errs Errors) Errors {
	moved := slices.Clone(errs)
	for i, e := range moved {
		for _, p := range r.put {
			if e.File != file || e.Line != p.line || moved[i].Column <= p.column {
				continue
			}
			moved[i].Column = max(p.column, moved[i].Column-p.more)
		}
		for _, p := range r.put {
			moved[i].Problem = hideSecret(moved[i].Problem, p.text, p.name)
		}
	}
	return moved
}

// Clean returns errors of the original text with marks in place of secrets.
func (h Hidden) Clean(errs Errors) Errors {
	clean := slices.Clone(errs)
	for i := range clean {
		for name, m := range h.Marks {
			clean[i].Problem = hideSecret(clean[i].Problem, m.text, name)
		}
	}
	return clean
}

// hideSecret replaces a secret in a message, also where the message has cut it. A shorter
// beginning is part of ordinary words, such as https://.
func hideSecret(message, secret, mark string) string {
	const beginning = 9
	quoted := strconv.Quote(secret)
	for _, form := range []string{secret, quoted[1 : len(quoted)-1]} {
		for n := len(form); n > 0 && n >= min(len(form), beginning); n-- {
			message = strings.ReplaceAll(message, form[:n], mark)
		}
	}
	return message
}
