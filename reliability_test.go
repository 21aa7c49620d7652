package legwork_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReliabilityNamesTests: each test that docs/reliability.md names is there.
func TestReliabilityNamesTests(t *testing.T) {
	doc, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".cache"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			there[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9_]*`).FindAllString(string(doc), -1)
	if len(named) < 100 {
		t.Errorf("docs/reliability.md names %d tests, want at least 100", len(named))
	}
	for _, name := range named {
		if !there[name] {
			t.Errorf("docs/reliability.md names %s, which is no test", name)
		}
	}
}
