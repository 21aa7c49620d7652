package legwork_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: each relative link of a page leads to a file, and to a heading of it if
// it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for path, text := range filesOf(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(withoutCode(text), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if info, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, m[1])
			} else if anchor != "" && !info.IsDir() && !hasHeading(t, file, anchor) {
				t.Errorf("%s: the link %s names a heading that is not there", path, m[1])
			}
		}
	}
}

// TestSymptoms: what the page for troubleshooting says that people see is a text that
// legwork still has.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, extension := range []string{".go", ".yaml"} {
		for path, text := range filesOf(t, extension) {
			if !strings.HasSuffix(path, "_test.go") {
				all.WriteString(text)
			}
		}
	}
	// Go's own library writes these.
	all.WriteString(`executable file not found in $PATH`)
	symptom := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	found := symptom.FindAllStringSubmatch(string(page), -1)
	if len(found) < 12 {
		t.Fatalf("the page names %d texts, want at least 12", len(found))
	}
	for _, m := range found {
		if !strings.HasPrefix(m[1], "legwork ") && !strings.Contains(all.String(), m[1]) {
			t.Errorf("legwork no longer says %q", m[1])
		}
	}
}

// filesOf returns the project's files with an extension, by path.
func filesOf(t *testing.T, extension string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == extension {
			text, err := os.ReadFile(path)
			files[path] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// withoutCode removes blocks and spans of code.
func withoutCode(text string) string {
	return regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(text, "")
}

// hasHeading reports whether a page has a heading with an anchor, by the rules of
// common viewers of Markdown.
func hasHeading(t *testing.T, path, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		name := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}
