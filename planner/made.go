package planner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"legwork/files"
	"legwork/llm"
)

// The files that a task makes for the person, by calls of make_file. The executor makes
// them, and the presenter sends them before the answer.

// MadeFile is a file for the person.
type MadeFile struct {
	files.File
	Caption string
}

// Made lists the files that the task has made for the person, in the order of their
// making. Of two with one name, the later one counts. The results of failed calls hold
// none.
func Made(s State, journal Journal) (list []MadeFile) {
	for _, seq := range s.MadeSeqs {
		r := journal(seq).Result
		for _, f := range r.Files {
			list = slices.DeleteFunc(list, func(old MadeFile) bool { return old.Name == f.Name })
			list = append(list, MadeFile{f, r.Caption})
		}
	}
	return list
}

// FromTools lists the files that tools returned. In prompts they are called "t1", "t2" and
// so on.
func FromTools(s State, journal Journal) (list []files.File) {
	for _, seq := range s.ReturnedSeqs {
		list = append(list, journal(seq).Result.Returned...)
	}
	return list
}

// ReturnedName is the name of the file of that index among those of FromTools.
func ReturnedName(index int) string { return "t" + strconv.Itoa(index+1) }

// madeName is a file name of a kind that make_file makes.
var madeName = regexp.MustCompile(`(?i)[\p{L}\p{N}_)-]\.(docx|pdf|xlsx|csv|md|txt|html|json|png|svg|mp3|ogg|jpg)\b`)

// NamesMade reports whether a text names a file that is to be made.
func NamesMade(text string) bool { return madeName.MatchString(text) }

// MadeKind is the kind of a file that make_file is to make: the ending of its name in
// lower case, without the dot.
func MadeKind(name string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")) }

// makesFiles reports whether a sub-task is offered make_file: the closing answer when
// the person wants a file, and another one when its description names a file.
func makesFiles(s State, w Work, journal Journal) bool {
	if w.Closing {
		return s.WantsFile
	}
	return NamesMade(Description(w, journal))
}

// FileSlot is the slot of the nth file of the outcome, from 1.
func FileSlot(n int) string { return "file." + strconv.Itoa(n) }

// firstFiles are the names of the files that calls make or read, in one line.
func firstFiles(calls []Call) string {
	var names []string
	for _, c := range calls {
		switch {
		case c.Make != nil:
			names = append(names, cmp.Or(c.Make.Name, c.Make.File))
		case c.Look != nil:
			names = append(names, c.Look.File)
		}
	}
	return cmp.Or(strings.Join(names, ", "), ClosingID)
}

// listReturned lists the files of tools for a model that can send them on.
func (b filePart) listReturned() {
	list := FromTools(b.s, b.journal)
	if len(list) == 0 {
		return
	}
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = fmt.Sprintf("%s · %s · %s · %s", ReturnedName(i), f.Name, f.Type, files.Size(f.Bytes))
	}
	b.messages.add(llm.User, b.text("prompt.returned_files", nil)+"\n"+tag("data", strings.Join(lines, "\n")))
}

func makeCall(c Call) Call {
	var m Make
	err := json.Unmarshal([]byte(c.Arguments), &m)
	given := 0
	for _, there := range []bool{m.Text != "", len(m.Sheets) > 0, len(m.Chart) > 0, m.File != ""} {
		if there {
			given++
		}
	}
	if err != nil || given != 1 || strings.TrimSpace(m.Name) == "" && m.File == "" {
		return refuse(c, `make_file needs "name" with an ending that says the kind, such as "report.docx", and exactly one of "text", "sheets", "chart" and "file"`)
	}
	c.Make = &m
	return c
}
