package write_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"legwork/files/write"
	"legwork/internal/test/need"
)

// hostile are texts that make careless readers slow or deep.
func hostile(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	grow := func(line func(i int) string) string {
		var out strings.Builder
		for i := 0; out.Len() < size; i++ {
			out.WriteString(line(i))
		}
		return out.String()
	}
	return map[string]string{
		"brackets": rep("["), "links": rep("[a]("), "images": rep("!["), "emphasis": rep("*a **b "), "stars": rep("*"), "underscores": rep("_a"),
		"backticks": grow(func(i int) string { return strings.Repeat("`", i+1) + " " }),
		"quotes":    rep(">"), "quote lines": rep("> a\n"), "lists": rep("- "), "numbers": rep("1. "), "mixed": rep("> - "), "tabs": rep(">\t"),
		"deep lists":  grow(func(i int) string { return strings.Repeat(" ", i*2) + "- a\n" }),
		"deep quotes": grow(func(i int) string { return strings.Repeat(">", i+1) + " a\n" }),
		"lines":       rep("a\n"), "blank items": rep("- a\n\n\n"), "empty items": rep("-\n"), "setext": rep("a\n=\n"), "fences": rep("```\n"),
		"table rows": "|a|b|\n|-|-|\n" + rep("|a|b|\n"), "short rows": strings.Repeat("|a", 60) + "\n" + strings.Repeat("|-", 60) + "\n" + rep("|\n"),
		"cells": rep("|a"), "tags": rep("<a "), "definitions": rep("[a]: b\n"), "uses": rep("[a]: b\n\n[a]\n"), "notes": rep("[^a]: b\n\n"),
		"many notes": grow(func(i int) string { return fmt.Sprintf("x[^%d]\n\n[^%d]: t[^%d]\n\n", i, i, i+1) }),
		"one word":   rep("a"), "wide word": rep("世"), "escapes": rep("\\"), "entities": rep("&amp;"), "control": rep("\x1b\x00\uFFFE"),
		"headings": rep("# a\n"), "rules": rep("---\n\n"), "code lines": "```\n" + rep("x\n"), "long code": "```\n" + rep("x"), "arabic": rep("السلام "), "marks": rep("e\u0301\u0301"),
		"links in emphasis": rep("*[a](b)"), "breaks": rep("a<br>"), "quote then list": rep("> 1. a\n> 2. b\n\n"),
	}
}

// TestHostile: each text makes a document that is whole, of some size. The texts
// are long enough to take minutes where time grows with the square of the length.
func TestHostile(t *testing.T) {
	for name, text := range hostile(need.Times(20_000, 400_000)) {
		for _, kind := range []string{"docx", "pdf", "html"} {
			var out bytes.Buffer
			err := write.Document(&out, kind, text, write.Options{})
			var large *write.TooLargeError
			var fonts *write.FontError
			if err != nil && !errors.As(err, &large) && !errors.As(err, &fonts) {
				t.Errorf("%s as %s: %v", name, kind, err)
			}
			if kind == "docx" && err == nil {
				parts(t, out.Bytes())
			}
		}
	}
}

// FuzzDOCX: every Markdown becomes valid XML, or a typed error.
func FuzzDOCX(f *testing.F) {
	fuzz(f, "docx", "html")
}

// FuzzPDF: every Markdown becomes a PDF, or a typed error.
func FuzzPDF(f *testing.F) {
	fuzz(f, "pdf")
}

func fuzz(f *testing.F, kinds ...string) {
	for _, text := range hostile(100) {
		f.Add(text)
	}
	f.Add(report(f)[:600])
	made := picture(f, 3, 2)
	f.Fuzz(func(t *testing.T, markdown string) {
		o := write.Options{Pictures: func(string) ([]byte, error) { return made, nil }}
		for _, kind := range kinds {
			var out bytes.Buffer
			err := write.Document(&out, kind, markdown, o)
			var large *write.TooLargeError
			var fonts *write.FontError
			if errors.As(err, &large) || errors.As(err, &fonts) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if kind == "docx" {
				parts(t, out.Bytes())
			}
		}
	})
}
