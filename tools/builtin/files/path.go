package files

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPath = 1024 // bytes of a path
	maxName = 255  // bytes of one of its names, as most file systems allow
	// maxDepth is how deep folders may be nested, and how deep walks go.
	maxDepth = 32
	// tempPrefix begins the names of half-written files.
	tempPrefix = ".legwork-"
)

// clean is a path from a model, relative to the workspace and without "..";
// "." is the workspace itself. It is a first check that tells models what to
// change: what holds them in is os.Root.
func clean(p string) (string, error) {
	switch {
	case len(p) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes; use a shorter one", maxPath)
	case !utf8.ValidString(p):
		return "", errors.New("the path is not valid UTF-8; list the folder and use a path from there")
	case strings.ContainsFunc(p, invisible):
		return "", errors.New("the path contains control characters; list the folder and use a path from there")
	case strings.Contains(p, `\`):
		return "", fmt.Errorf(`the path %s contains a backslash; write "/" between folders`, show(p))
	case strings.HasPrefix(p, "/"):
		return "", fmt.Errorf(`the path %s is absolute; paths are relative to the workspace, such as "notes/plan.md", and the workspace itself is "."`, show(p))
	case len(p) > 1 && p[1] == ':' && unicode.IsLetter(rune(p[0])):
		return "", fmt.Errorf(`the path %s names a drive; paths are relative to the workspace, such as "notes/plan.md"`, show(p))
	}
	names := strings.Split(p, "/")
	if len(names) > maxDepth {
		return "", fmt.Errorf("the path has more than %d folders; use a shorter one", maxDepth)
	}
	for _, name := range names {
		if name == ".." {
			return "", fmt.Errorf(`the path %s contains ".."; nothing outside of the workspace can be reached, so name the file from the workspace on`, show(p))
		}
	}
	p = path.Clean(p)
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", fmt.Errorf("the path %s cannot be used here; list the folder and use a path from there", show(p))
	}
	return p, nil
}

// cleanNew is clean for a path at which something is made: it must suit every
// system that the workspace may be copied to, and not be the workspace itself.
func cleanNew(p string) (string, error) {
	p, err := clean(p)
	if err != nil {
		return "", err
	}
	if p == "." {
		return "", errors.New(`the path is the workspace itself; name a file or folder in it, such as "notes/plan.md"`)
	}
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case len(name) > maxName:
			return "", fmt.Errorf("the name %s is longer than %d bytes; use a shorter one", show(name[:20]+"…"), maxName)
		case strings.ContainsAny(name, `<>:"|?*`):
			return "", fmt.Errorf(`the name %s contains one of < > : " | ? *, which not every system can store; use another character`, show(name))
		case strings.HasSuffix(name, ".") || strings.TrimSpace(name) != name:
			return "", fmt.Errorf("the name %s begins or ends with a space, or ends with a dot; leave that out", show(name))
		case reserved(name):
			return "", fmt.Errorf("the name %s is reserved on some systems; use another one", show(name))
		case strings.HasPrefix(strings.ToLower(name), tempPrefix):
			return "", fmt.Errorf("names that begin with %q are reserved; use another one", tempPrefix)
		}
	}
	return p, nil
}

// reserved tells the names of devices on Windows, with any ending.
func reserved(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	switch name = strings.TrimSpace(name); name {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	for _, port := range []string{"com", "lpt"} {
		if n, ok := strings.CutPrefix(name, port); ok && utf8.RuneCountInString(n) == 1 && strings.Contains("0123456789¹²³", n) {
			return true
		}
	}
	return false
}

// invisible tells characters that could make a name look like another one or
// break a line.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// shown is a name as models read it: on one line, and with nothing in it that
// cannot be seen.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, invisible) {
		return fmt.Sprintf("%+q", name)
	}
	return name
}

// show is a name within a sentence.
func show(name string) string {
	if s := shown(name); s != name {
		return s
	}
	return `"` + name + `"`
}
