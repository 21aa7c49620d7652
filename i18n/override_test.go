package i18n_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/i18n"

	"github.com/google/go-cmp/cmp"
)

// write makes a folder with files by path; a path that ends in a slash is an
// empty folder.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOverride(t *testing.T) {
	dir := write(t, map[string]string{
		"en/texts.yaml": "status.done: \"Finito\"\nstatus.working: \"{{.Done}}/{{.Count}}\"\n",
		"ru/texts.yaml": "unit.tokens:\n  one: \"{{.Count}} ток\"\n  few: \"{{.Count}} тока\"\n  many: \"{{.Count}} токов\"\n  other: \"{{.Count}} тока\"\n",
		"en/answer.md":  "Answer {{with .ChatInstructions}}({{.}}){{end}}{{range .Groups}}[{{.Name}} {{$.MaxSubtasks}}]{{end}}\n",
		"README.md":     "not a folder, and fine",
		".git/config":   "hidden, and fine",
		"zh/":           "",
	})
	texts := load(t, dir)
	for _, test := range []struct {
		lang, key string
		data      any
		want      string
	}{
		{"en", "status.done", nil, "Finito"},
		{"en", "status.working", map[string]any{"Done": 0, "Count": 1}, "0/1"},
		{"en", "status.working", map[string]any{"Done": 0, "Count": 5}, "0/5"},
		{"en", "status.failed", nil, "Failed"},
		{"zh", "status.done", nil, "已完成"},
		{"ru", "unit.tokens", map[string]any{"Count": 5}, "5 токов"},
		{"ru", "unit.tokens", map[string]any{"Count": 1}, "1 ток"},
	} {
		if got := texts.Text(test.lang, test.key, test.data); got != test.want {
			t.Errorf("Text(%q, %q, %v) = %q, want %q", test.lang, test.key, test.data, got, test.want)
		}
	}
	got, err := texts.Prompt("en", "answer", fullData())
	if want := "Answer (Be brief here.)[clock 12][web 12]\n"; err != nil || got != want {
		t.Errorf("Prompt of an override = %q, %v, want %q", got, err, want)
	}
	if got, err := texts.Prompt("en", "plan", fullData()); err != nil || !strings.Contains(got, "deep researcher") {
		t.Errorf("Prompt without an override = %q, %v, want the embedded one", got, err)
	}
}

// TestEmbeddedPassesOwnChecks loads the embedded folders as overrides.
func TestEmbeddedPassesOwnChecks(t *testing.T) {
	dir := t.TempDir()
	for _, l := range i18n.Languages() {
		if err := os.CopyFS(filepath.Join(dir, l.Code), os.DirFS(l.Code)); err != nil {
			t.Fatal(err)
		}
	}
	load(t, dir)
}

func TestOverrideFaults(t *testing.T) {
	forms := "; needed are one, few, many, other"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing in it", map[string]string{}, []string{": has no folder of a language; the languages are en, zh, ru"}},
		{"only hidden files", map[string]string{".git/x": ""}, []string{": has no folder of a language; the languages are en, zh, ru"}},
		{"unknown language", map[string]string{"de/plan.md": "x", "en/": ""}, []string{"de: is not the folder of a language; the languages are en, zh, ru"}},
		{"prompt beside the folders", map[string]string{"plan.md": "x", "en/": ""}, []string{"plan.md: is not the folder of a language; the languages are en, zh, ru"}},
		{"a file for a folder", map[string]string{"en": "x"}, []string{"en: cannot be read: not a directory"}},
		{"unknown file", map[string]string{"en/palm.md": "x"}, []string{"en/palm.md: is not known; allowed are texts.yaml, plan.md, review.md, work.md, answer.md, summary.md"}},
		{"a folder for a file", map[string]string{"en/plan.md/": ""}, []string{"en/plan.md: cannot be read: is a directory"}},
		{"empty prompt", map[string]string{"en/plan.md": ""}, []string{"en/plan.md: is empty"}},
		{"prompt of definitions", map[string]string{"en/plan.md": "{{define \"a\"}}x{{end}}"}, []string{"en/plan.md: gives an empty prompt"}},
		{"broken prompt", map[string]string{"en/plan.md": "a\n{{.Groups"}, []string{"en/plan.md:2: is not a valid template: unclosed action"}},
		{"unknown function", map[string]string{"en/plan.md": "\n\n{{now}}"}, []string{`en/plan.md:3: is not a valid template: function "now" not defined`}},
		{
			"unknown fields of a prompt",
			map[string]string{"en/plan.md": "{{.Date}}\n{{if .Final}} {{$.Goal}}{{else}}{{(len .Nothing)}}{{end}}\n{{range .Groups}}{{.Final}}{{$.Final}}{{end}}{{with .Language}}{{.Name}}{{end}}"},
			[]string{
				"en/plan.md:1:3: has no field .Date; allowed are .ChatInstructions, .Example, .Final, .GroupInstructions, .Groups, .Instructions, .Language, .Makes, .MaxSubtasks",
				"en/plan.md:2:18: has no field .Goal; allowed are .ChatInstructions, .Example, .Final, .GroupInstructions, .Groups, .Instructions, .Language, .Makes, .MaxSubtasks",
				"en/plan.md:2:40: has no field .Nothing; allowed are .ChatInstructions, .Example, .Final, .GroupInstructions, .Groups, .Instructions, .Language, .Makes, .MaxSubtasks",
				"en/plan.md:3:20: has no field .Final; allowed are .Description, .Name, .ReadOnly",
				"en/plan.md:3:66: has no field .Name; none is allowed here",
			},
		},
		{"field of a list", map[string]string{"en/plan.md": "\n{{.Groups.Name}}"}, []string{"en/plan.md:2: is not a valid template: executing \"text\" at <.Groups.Name>: can't evaluate field Name in type []i18n.Group"}},
		{"template that calls itself", map[string]string{"en/plan.md": "{{define \"a\"}}{{template \"a\"}}{{end}}x\n{{template \"a\"}}"}, []string{"en/plan.md:2:12: must not contain other templates"}},
		{"not YAML", map[string]string{"en/texts.yaml": "a: b\n\tc: d\n"}, []string{"en/texts.yaml:2: is not valid YAML: found a tab character that violates indentation"}},
		{"not a map", map[string]string{"en/texts.yaml": "- a\n"}, []string{"en/texts.yaml:1:1: must be a map of keys to texts"}},
		{"unknown key", map[string]string{"en/texts.yaml": "\nstatus.dnoe: x\n"}, []string{"en/texts.yaml:2:1: status.dnoe: is not known; the nearest is status.done"}},
		{"same key twice", map[string]string{"en/texts.yaml": "status.done: x\nstatus.done: y\n"}, []string{"en/texts.yaml:2:1: status.done: is there already on line 1"}},
		{"a number for a text", map[string]string{"en/texts.yaml": "status.done: 5\n"}, []string{"en/texts.yaml:1:14: status.done: must be a text or a map of plural forms"}},
		{"an empty text", map[string]string{"en/texts.yaml": "status.done: ''\n"}, []string{"en/texts.yaml:1:14: status.done: must be a text or a map of plural forms"}},
		{"a list for a form", map[string]string{"en/texts.yaml": "unit.tokens:\n  one: [a]\n"}, []string{`en/texts.yaml:2:8: unit.tokens: plural form "one" must be a text`}},
		{"a form twice", map[string]string{"en/texts.yaml": "unit.tokens:\n  one: a\n  one: b\n"}, []string{`en/texts.yaml:3:3: unit.tokens: plural form "one" is there twice`}},
		{"unknown field", map[string]string{"en/texts.yaml": "status.failed: |-\n  a\n  {{.Why}}\n"}, []string{"en/texts.yaml:3: status.failed: has no field .Why; none is allowed here"}},
		{"broken text", map[string]string{"en/texts.yaml": "board.calling: '{{.Tool'\n"}, []string{"en/texts.yaml:1:16: board.calling: is not a valid template: unclosed action"}},
		{"plural forms of a text that has none", map[string]string{"en/texts.yaml": "status.done: {one: a, other: b}\n"}, []string{"en/texts.yaml:1:1: status.done: has no plural forms; it must be one text"}},
		{
			"missing and foreign plural forms",
			map[string]string{"ru/texts.yaml": "unit.tokens: {one: a, two: b, other: c}\n"},
			[]string{
				`ru/texts.yaml:1:1: unit.tokens: lacks the plural form "few"` + forms, `ru/texts.yaml:1:1: unit.tokens: lacks the plural form "many"` + forms,
				`ru/texts.yaml:1:28: unit.tokens: has no plural form "two" in this language` + forms,
			},
		},
		{"a unit that calls itself", map[string]string{"en/texts.yaml": "unit.tokens: '{{tokens .Count}}'\nunit.separator: '{{number 1000}}'\n"}, []string{
			`en/texts.yaml:1:14: unit.tokens: is not a valid template: function "tokens" not defined`,
			`en/texts.yaml:2:17: unit.separator: is not a valid template: function "number" not defined`,
		}},
		{
			"all at once",
			map[string]string{"en/work.md": "{{.X", "ru/texts.yaml": "partial.intros: x\nstatus.done: '{{.Y}}'\n", "fr/": ""},
			[]string{
				"en/work.md:1: is not a valid template: unclosed action",
				"fr: is not the folder of a language; the languages are en, zh, ru",
				"ru/texts.yaml:1:1: partial.intros: is not known; the nearest is partial.intro",
				"ru/texts.yaml:2:14: status.done: has no field .Y; none is allowed here",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, test.files)
			texts, err := i18n.Load(dir)
			if texts != nil || err == nil {
				t.Fatalf("Load of %v = %v, %v, want an error", test.files, texts, err)
			}
			var got []string
			for line := range strings.Lines(err.Error()) {
				got = append(got, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), dir), "/"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults of %v differ (-want +got):\n%s", test.files, diff)
			}
			var fault *i18n.Error
			if !errors.As(err, &fault) || !strings.HasPrefix(fault.File, dir) {
				t.Errorf("error %v of %v has no *Error with a file in %s", err, test.files, dir)
			}
		})
	}
}

func TestLoadWithoutFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	_, err := i18n.Load(missing)
	if want := missing + ": cannot be read: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("Load of a missing folder = %v, want %q", err, want)
	}
}

// FuzzOverride feeds files that an admin wrote: Load says yes or no, and after
// a yes texts and prompts can be given out.
func FuzzOverride(f *testing.F) {
	f.Add("status.done: x", "{{.Language}}")
	f.Add("unit.tokens: {one: a, other: '{{number .Count}}'}", "{{range .Groups}}{{.Name}}{{end}}")
	f.Add("? [a]\n: b\n*x", "{{define \"x\"}}{{end}}")
	f.Add("a: &a [*a]", "{{with $x := .Groups}}{{$x.Y}}{{end}}")
	f.Add("board.calling: !!str {{.Tool | printf \"%s\"}}\n", "{{if and .Final (not .Language)}}{{break}}{{end}}")
	f.Fuzz(func(t *testing.T, yaml, prompt string) {
		texts, err := i18n.Load(write(t, map[string]string{"en/texts.yaml": yaml, "en/plan.md": prompt}))
		if err != nil {
			var fault *i18n.Error
			if !errors.As(err, &fault) {
				t.Fatalf("Load of %q, %q: error %v is no *Error", yaml, prompt, err)
			}
			return
		}
		for _, key := range []string{"status.done", "unit.tokens", "board.calling", "answer.footer"} {
			if texts.Text("en", key, sample()) == "" {
				t.Errorf("Text(%q) is empty with the override %q", key, yaml)
			}
		}
		if _, err := texts.Prompt("en", "plan", i18n.PromptData{Language: "x"}); err != nil {
			t.Logf("prompt %q: %v", prompt, err)
		}
	})
}
