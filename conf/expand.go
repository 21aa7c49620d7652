package conf

import (
	"fmt"
	"path/filepath"
	"strings"
)

// expander replaces ${NAME}, ${NAME:-default}, ${file:PATH} and $$ in values. It
// collects the inserted values, so that messages can hide them.
type expander struct {
	env      func(string) (string, bool)
	folder   string // ${file:PATH} is relative to it
	put      []expanded
	problems []string
}

// expanded is a value from outside the config file.
type expanded struct {
	reference string // as written, such as "${OPENAI_API_KEY}"
	text      string
}

// maxNesting bounds defaults within defaults: ${A:-${B:-c}} has two.
const maxNesting = 8

// expand returns text with every reference replaced. It removes a reference that
// cannot be resolved and adds a problem.
func (x *expander) expand(text string, depth int) string {
	if depth > maxNesting {
		return x.problem("${NAME:-default} is nested more than %d deep", maxNesting)
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		switch {
		case !found:
			return out.String()
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "{"):
			end := closing(after)
			if end < 0 {
				return x.problem(`"${" has no "}"; write $$ for a plain dollar sign`)
			}
			out.WriteString(x.resolve(after[1:end], depth))
			text = after[end+1:]
		case leadingName(after) != "":
			name := leadingName(after)
			x.problem("write ${%s} for the variable, or $$ for a plain dollar sign", name)
			text = after[len(name):]
		default:
			out.WriteByte('$')
			text = after
		}
	}
}

func (x *expander) problem(format string, values ...any) string {
	x.problems = append(x.problems, fmt.Sprintf(format, values...))
	return ""
}

// resolve returns the value of one ${…}.
func (x *expander) resolve(inside string, depth int) string {
	if path, ok := strings.CutPrefix(inside, "file:"); ok {
		return x.file(path)
	}
	name, fallback, hasFallback := strings.Cut(inside, ":-")
	if name == "" || leadingName(name) != name {
		return x.problem("%s is none of ${NAME}, ${NAME:-default} and ${file:PATH}; write $$ for a plain dollar sign", shown("${"+inside+"}"))
	}
	value, ok := x.env(name)
	switch {
	case hasFallback && value == "":
		return x.expand(fallback, depth+1)
	case !ok:
		return x.problem("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	x.put = append(x.put, expanded{"${" + name + "}", value})
	return value
}

func (x *expander) file(path string) string {
	if path == "" {
		return x.problem("${file:} names no file; write ${file:PATH}")
	}
	full := beside(x.folder, path)
	content, err := readBounded(full)
	if err != nil {
		return x.problem("${file:%s}: %s %v", path, full, err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	x.put = append(x.put, expanded{"${file:" + path + "}", value})
	return value
}

// beside resolves path relative to folder.
func beside(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// closing is the index of the brace that closes the first one of text, or -1.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '{' && (i == 0 || text[i-1] == '$'):
			depth++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// leadingName is the name of a variable at the beginning of text; empty for none.
func leadingName(text string) string {
	i := 0
	for i < len(text) && nameByte(text[i], i == 0) {
		i++
	}
	return text[:i]
}

func nameByte(b byte, first bool) bool {
	return b == '_' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || !first && '0' <= b && b <= '9'
}
