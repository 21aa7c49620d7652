package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTexts holds that the texts of all languages have the same keys and values.
func TestTexts(t *testing.T) {
	t.Parallel()
	languages := []string{"en", "ru", "zh"}
	names := map[string]bool{}
	for _, language := range languages {
		files, err := filepath.Glob(filepath.Join("src", "texts", language, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			names[filepath.Base(file)] = true
		}
	}
	for name := range names {
		english := texts(t, "en", name)
		for _, language := range languages[1:] {
			other := texts(t, language, name)
			for key := range english {
				if got, want := values(other[key]), values(english[key]); !slices.Equal(got, want) || other[key] == "" {
					t.Errorf("texts/%s/%s: %q has the values %q, want %q: %q", language, name, key, got, want, other[key])
				}
			}
			for key := range other {
				if _, ok := english[key]; !ok {
					t.Errorf("texts/%s/%s: %q is not in English", language, name, key)
				}
			}
		}
	}
}

// TestTextsAreThere holds that each page has texts, and the texts exist that the
// sources name.
func TestTextsAreThere(t *testing.T) {
	t.Parallel()
	shell := texts(t, "en", "shell.json")
	pages, err := filepath.Glob(filepath.Join("src", "pages", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]map[string]string{filepath.Join("src", "shell"): shell, filepath.Join("src", "ui"): shell}
	for _, page := range pages {
		all := maps.Clone(shell)
		maps.Copy(all, texts(t, "en", filepath.Base(page)+".json"))
		sources[page] = all
	}
	named := regexp.MustCompile(`\bt\("([^"]+)"[,)]`)
	for dir, known := range sources {
		files, err := filepath.Glob(filepath.Join(dir, "*.ts*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range named.FindAllStringSubmatch(string(source), -1) {
				if _, ok := known[match[1]]; !ok {
					t.Errorf("%s names the text %q, which is neither in the page's texts nor in shell.json", file, match[1])
				}
			}
		}
	}
}

// TestActions holds that the page has a text for each action that the code writes to the
// audit log, and that the docs name each.
func TestActions(t *testing.T) {
	t.Parallel()
	known := texts(t, "en", "audit.json")
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(file, action string) {
		if known["action."+action] == "" {
			t.Errorf("%s writes the action %q, which has no text in audit.json", file, action)
		}
		if !strings.Contains(string(docs), "`"+action+"`") {
			t.Errorf("%s writes the action %q, which docs/security.md does not name", file, action)
		}
	}
	written := regexp.MustCompile(`(?:Action: |\b[rR]ecord\(.*, p, |\.Audit\(ctx, r, |ByHand\(|inbox\.Access\w+: )"([a-z_.]+[a-z])"`)
	found := 0
	err = filepath.WalkDir(filepath.Join("..", ".."), func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, match := range written.FindAllSubmatch(source, -1) {
			found++
			check(file, string(match[1]))
		}
		if strings.HasSuffix(file, filepath.Join("store", "audit.go")) {
			for _, match := range regexp.MustCompile(`return "([a-z._]+)", `).FindAllSubmatch(source, -1) {
				check(file, string(match[1]))
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("found %d actions in the sources: %v", found, err)
	}
}

func texts(t *testing.T, language, name string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("src", "texts", language, name))
	if err != nil {
		t.Error(err)
		return nil
	}
	var all map[string]string
	if err := json.Unmarshal(content, &all); err != nil {
		t.Errorf("reading texts/%s/%s: %v", language, name, err)
	}
	return all
}

// values are the names in braces that a text holds, sorted, each once.
func values(text string) []string {
	all := regexp.MustCompile(`\{(\w+)[^}]*\}`).FindAllStringSubmatch(text, -1)
	names := make([]string, 0, len(all))
	for _, match := range all {
		names = append(names, strings.ToLower(match[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
