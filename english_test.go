package legwork_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// clause is the beginning of a sentence, or of a clause after a semicolon or colon.
const clause = `(?:^|\n\n|[.;:!]["'` + "`" + `)*]*\s+)[*-]?\s*`

// worstEnglish are patterns that had to be read twice wherever they were found.
// Each names the way out. A text that asks a question is left alone.
var worstEnglish = []struct {
	pattern *regexp.Regexp
	mend    string
}{
	{regexp.MustCompile(clause + `(?:[Ww]hat|[Ww]ho|[Tt]hose(?: who| that)?)\s+(?:is|are|was|were|has|have|had|asks|asked|comes|came|can|may|must|waits|reads|writes)\b`), "begin with who acts, or with the noun that is meant"},
	{regexp.MustCompile(clause + `Nothing\s+(?:(?:is|was|may be|can be)\s+\w+\s+(?:of|about|with|from|by)|that|of)\b`), "begin with who acts: \"legwork keeps nothing of it\""},
	{regexp.MustCompile(`\b(?:tell|tells|told|telling)\s+of\b`), "write report, describe, announce or mention"},
	{regexp.MustCompile(`\b[Nn]obody\b`), "name who acts, or say what is missing"},
	{regexp.MustCompile(`\b[Ww]ho(?:so)?ever\b`), "write \"anyone who\", or name the role"},
}

// metaphors are words that were private names for things that have a term of
// the trade. An identifier may not hold one.
var metaphors = regexp.MustCompile(`^(?:till|sorry|desk|doors?|crowd|deeds?|starved|garbled|overdrew|misfits?|withheld|visitors?|newcomers?|acquaintances?|addressees?|utterances?|hungry|heeded|shipment|bulletins?|town|office)$`)

var camelWord = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// TestEnglish holds plain English in comments, texts, docs and names: a reader
// with English as a second language understands each sentence the first time.
func TestEnglish(t *testing.T) {
	report := func(file string, line int, text, mend string) {
		t.Errorf("%s:%d: %s\n\t%s", file, line, strings.Join(strings.Fields(text), " "), mend)
	}
	prose := func(file string, line int, text string) {
		for _, w := range worstEnglish {
			for _, at := range w.pattern.FindAllStringIndex(text, -1) {
				rest, _, _ := strings.Cut(text[at[1]:]+"\n\n", "\n\n")
				if end := strings.IndexAny(rest, ".?"); end >= 0 && rest[end] == '?' {
					continue
				}
				report(file, line+strings.Count(text[:at[1]], "\n"), text[at[0]:min(len(text), at[1]+60)], w.mend)
			}
		}
	}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || file == "english_test.go":
			return nil
		}
		isGo := strings.HasSuffix(file, ".go")
		if !isGo && !strings.HasSuffix(file, ".md") && file != "config.example.yaml" && file != filepath.Join("i18n", "en", "texts.yaml") {
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if isGo {
			readGo(source, func(line int, text string, isString bool) {
				if !isString || !strings.HasSuffix(file, "_test.go") { // strings of tests are data
					prose(file, line, text)
				}
			}, func(line int, name string) {
				for _, word := range camelWord.FindAllString(name, -1) {
					if metaphors.MatchString(strings.ToLower(word)) {
						report(file, line, name, fmt.Sprintf("%q is a metaphor: take the term of the trade", word))
					}
				}
			})
			return nil
		}
		text := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllStringFunc(string(source), func(code string) string {
			return strings.Repeat("\n", strings.Count(code, "\n"))
		})
		prose(file, 1, regexp.MustCompile(`(?m)^ *# ?`).ReplaceAllString(text, ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readGo hands over the texts of a Go file (comments of adjacent lines as one,
// and strings) and its identifiers, each with its line.
func readGo(source []byte, text func(line int, s string, isString bool), name func(line int, s string)) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	var comment []string
	last := 0
	for {
		pos, kind, literal := s.Scan()
		line := file.Line(pos)
		switch {
		case kind == token.COMMENT && len(comment) > 0 && line == last+1:
			comment, last = append(comment, literal), line
			continue
		case kind == token.SEMICOLON && literal == "\n":
			continue
		case len(comment) > 0:
			all := strings.Join(comment, "\n")
			text(last+1-len(comment), regexp.MustCompile(`(?m)^//\s?`).ReplaceAllString(all, ""), false)
			comment = nil
		}
		switch kind {
		case token.EOF:
			return
		case token.COMMENT:
			comment, last = []string{literal}, line
		case token.STRING:
			if value, err := strconv.Unquote(literal); err == nil {
				text(line, value, true)
			}
		case token.IDENT:
			name(line, literal)
		}
	}
}
