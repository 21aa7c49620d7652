package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a config file, and every file of a ${file:PATH}, in bytes.
const maxFile = 1 << 20

// readBounded reads a regular file of at most maxFile bytes. Its errors are texts to
// put after the name of the file.
func readBounded(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the writer of a pipe
	if err != nil {
		return nil, plainFileError(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, plainFileError(err)
	} else if info.IsDir() {
		return nil, errors.New("is a folder, not a file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, plainFileError(err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return text, nil
}

// plainFileError drops the path of a file error, because the message has it already.
func plainFileError(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// parse returns the mapping at the root of a config file.
func parse(file string, text []byte) (*yaml.Node, Errors) {
	if at := invalidUTF8(text); at >= 0 {
		return nil, Errors{errorAt(file, text, at, "is not UTF-8 text from here on")}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, Errors{{File: file, Line: 1, Column: 1, Problem: emptyFile}}
	} else if err != nil {
		return nil, Errors{syntaxError(file, text, err)}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, Errors{{File: file, Line: root.Line, Column: root.Column, Problem: emptyFile}}
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, Errors{{File: file, Line: second.Line, Column: second.Column, Problem: "a second YAML document starts here; a config file is one document, without a line --- in the middle"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, Errors{syntaxError(file, text, err)}
	}
	return root, nil
}

const emptyFile = "the file is empty; it needs at least models, see config.example.yaml"

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

var (
	lineBreak    = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]") // as YAML counts lines
	syntaxLine   = regexp.MustCompile(`^yaml: (?:line \d+: )?`)
	unknownAlias = regexp.MustCompile(`unknown anchor '([^']*)'`)
)

type syntaxHint struct{ message, hint string }

// syntaxHints are the usual causes of messages of the YAML parser.
func syntaxHints() []syntaxHint {
	return []syntaxHint{
		{"cannot start any token", "YAML is indented with spaces, not tabs; a text that begins with a special character such as @ or ` needs quotes"},
		{"mapping values are not allowed", "a text that contains \": \" needs quotes; look at the indentation too"},
		{"could not find expected ':'", "a key needs a colon and a space after it"},
		{"did not find expected key", "look at the indentation and at quotes on this line and the one above"},
		{"did not find expected alphabetic or numeric", "a text that begins with * or & needs quotes"},
		{"unexpected end of stream", "the quote that is opened here is never closed"},
		{"did not find expected ','", "a bracket or brace is not closed, or a comma is missing; inside of { } a ${NAME} needs quotes"},
		{"unknown anchor", "an alias needs its anchor before it; a text that begins with * needs quotes"},
		{"control characters", "remove the invisible character"},
	}
}

// syntaxError adds a place to an error of the YAML parser.
func syntaxError(file string, text []byte, err error) Error {
	message := syntaxMessage(err)
	problem := "is not valid YAML: " + message
	for _, h := range syntaxHints() {
		if strings.Contains(message, h.message) {
			problem += " (" + h.hint + ")"
			break
		}
	}
	if alias := unknownAlias.FindStringSubmatch(message); alias != nil {
		if at := bytes.Index(text, []byte("*"+alias[1])); at >= 0 {
			return errorAt(file, text, at, problem)
		}
	}
	if at := bytes.IndexFunc(text, unprintable); at >= 0 && strings.Contains(message, "control characters") {
		return errorAt(file, text, at, problem)
	}
	return Error{File: file, Line: firstBadLine(text, message), Column: 1, Problem: problem}
}

// syntaxMessage is the message of the YAML parser without its line, which is often
// the one where the surrounding value begins.
func syntaxMessage(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return syntaxLine.ReplaceAllString(first, "")
}

// firstBadLine is the line that causes message. It searches, by halving, for the
// least number of lines that do not parse for the same reason.
func firstBadLine(text []byte, message string) int {
	ends := append(lineBreak.FindAllIndex(text, -1), []int{len(text), len(text)})
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		decoder := yaml.NewDecoder(bytes.NewReader(text[:ends[i][1]]))
		for {
			var document yaml.Node
			if err := decoder.Decode(&document); err != nil {
				return !errors.Is(err, io.EOF) && syntaxMessage(err) == message
			}
		}
	})
}

func unprintable(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' || 0x7f <= r && r <= 0x9f && r != 0x85
}

// errorAt places a problem at a byte offset of the text.
func errorAt(file string, text []byte, offset int, problem string) Error {
	line, start := 1, 0
	for _, end := range lineBreak.FindAllIndex(text[:offset], -1) {
		line, start = line+1, end[1]
	}
	return Error{File: file, Line: line, Column: utf8.RuneCount(text[start:offset]) + 1, Problem: problem}
}
