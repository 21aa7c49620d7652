package i18n

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"legwork/internal/nearest"
)

// overrides reads one folder of overrides and collects all that is wrong in it.
type overrides struct {
	texts  *Texts
	files  fs.FS
	dir    string // what the folder is called in faults
	faults []error
}

// override replaces texts and prompts by those in files.
func (t *Texts) override(files fs.FS, dir string) error {
	o := &overrides{texts: t, files: files, dir: dir}
	o.root()
	return errors.Join(o.faults...)
}

func (o *overrides) fault(name string, faults ...*Error) {
	for _, f := range faults {
		f.File = filepath.Join(o.dir, filepath.FromSlash(name))
		o.faults = append(o.faults, f)
	}
}

// list returns false after it noted a fault.
func (o *overrides) list(name string) ([]fs.DirEntry, bool) {
	found, err := fs.ReadDir(o.files, name)
	if err != nil {
		o.fault(name, &Error{Problem: "cannot be read: " + cause(err)})
		return nil, false
	}
	return slices.DeleteFunc(found, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "README")
	}), true
}

// cause is the reason of a file error without the path, which is known.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func (o *overrides) root() {
	found, ok := o.list(".")
	if !ok {
		return
	}
	languages := 0
	for _, f := range found {
		e, known := o.texts.editions[f.Name()]
		if !known {
			o.fault(f.Name(), &Error{Problem: "is not the folder of a language; the languages are " + codes()})
			continue
		}
		languages++
		o.language(e)
	}
	if languages == 0 {
		o.fault(".", &Error{Problem: "has no folder of a language; the languages are " + codes()})
	}
}

func (o *overrides) language(e *edition) {
	found, ok := o.list(e.Code)
	if !ok {
		return
	}
	for _, f := range found {
		name := path.Join(e.Code, f.Name())
		prompt, isPrompt := strings.CutSuffix(f.Name(), ".md")
		isPrompt = isPrompt && slices.Contains(promptNames(), prompt)
		if !isPrompt && f.Name() != "texts.yaml" {
			o.fault(name, &Error{Problem: "is not known; allowed are texts.yaml, " + strings.Join(promptNames(), ".md, ") + ".md"})
			continue
		}
		source, err := fs.ReadFile(o.files, name)
		switch {
		case err != nil:
			o.fault(name, &Error{Problem: "cannot be read: " + cause(err)})
		case isPrompt:
			o.promptOf(e, name, prompt, string(source))
		default:
			o.textsOf(e, name, source)
		}
	}
}

func (o *overrides) promptOf(e *edition, name, prompt, source string) {
	o.fault(name, checkPrompt(source)...)
	e.sources[prompt] = source
}

func (o *overrides) textsOf(e *edition, name string, source []byte) {
	entries, faults := parseTexts(source)
	o.fault(name, faults...)
	known := knownTexts()
	for _, entry := range entries {
		original, ok := known[entry.key]
		if !ok {
			o.fault(name, &Error{Line: entry.line, Column: entry.column, Key: entry.key, Problem: "is not known; the nearest is " + nearest.Of(entry.key, slices.Collect(maps.Keys(known)))})
			continue
		}
		o.fault(name, checkEntry(e.Code, entry, original)...)
	}
	e.replaced = entries
}
