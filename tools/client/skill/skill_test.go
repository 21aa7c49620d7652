package skill_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"legwork/tools/client/skill"
)

const body = "---\nname: pdf\ndescription: Fills forms.\nversion: 2\nsince: 2026-01-02\nmetadata: {a: [1.5, true, null]}\n---\nText.\n"

// fileOf is the entry of a file.
func fileOf(uri, content string) map[string]any {
	sum := sha256.Sum256([]byte(content))
	return map[string]any{"uri": uri, "digest": "sha256:" + hex.EncodeToString(sum[:]), "size": len(content)}
}

// entry is an entry with one change: a part and its value.
func entry(t testing.TB, part string, value any) []byte {
	t.Helper()
	e := map[string]any{
		"uri": "skill://a/pdf/SKILL.md", "resources": []any{fileOf("skill://a/pdf/SKILL.md", body)},
		"frontmatter": map[string]any{"name": "pdf", "description": "Fills forms.", "version": 2, "since": "2026-01-02", "metadata": map[string]any{"a": []any{1.5, true, nil}}},
	}
	if part != "" {
		e[part] = value
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRead(t *testing.T) {
	s, err := skill.Read(entry(t, "", nil))
	if err != nil || s.Name != "pdf" || s.Description != "Fills forms." || s.Label() != "a_pdf" {
		t.Fatalf("got %+v, %v; want the skill a/pdf", s, err)
	}
	main := fileOf("skill://a/pdf/SKILL.md", body)
	many := []any{main}
	for i := range 512 {
		many = append(many, fileOf(fmt.Sprintf("skill://a/pdf/%d", i), ""))
	}
	with := func(more ...any) []any { return append([]any{main}, more...) }
	for _, c := range []struct {
		part  string
		value any
		want  string // of the error; empty: there is none
	}{
		{"resources", many[:512], ""},
		{"resources", many, "513 files; the limit is 512"},
		{"resources", with(map[string]any{"uri": "skill://a/pdf/x", "digest": main["digest"], "size": 16 << 20}), "the limit is 16777216"},
		{"resources", with(map[string]any{"uri": "skill://a/pdf/x", "digest": main["digest"], "size": -1}), "no digest or size"},
		{"resources", with(map[string]any{"uri": "skill://a/pdf/x", "digest": "md5:1", "size": 1}), "no digest or size"},
		{"resources", with(main), "twice"},
		{"resources", with(fileOf("skill://a/other/x", "")), "not in its folder"},
		{"resources", with(fileOf("skill://a/pdf/../x", "")), "not in its folder"},
		{"resources", with(fileOf("skill://a/pdf/x\ny", "")), "not in its folder"},
		{"resources", []any{fileOf("skill://a/pdf/x", "")}, "lacks SKILL.md"},
		{"resources", "dynamic", "cannot be checked"},
		{"resources", nil, "lacks SKILL.md"},
		{"resources", "all", "list of its files"},
		{"uri", "skill://a/pdf/README.md", "its address"},
		{"uri", "skill://a/xpdf/SKILL.md", "its address"},
		{"uri", "a/pdf/SKILL.md", "its address"},
		{"uri", 7, "its entry"},
		{"frontmatter", "pdf", "its frontmatter"},
		{"frontmatter", map[string]any{"name": "pdf"}, "no description"},
		{"frontmatter", map[string]any{"name": "pdf", "description": strings.Repeat("x", 64<<10)}, "the limit is 65536"},
	} {
		_, err := skill.Read(entry(t, c.part, c.value))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %.80v: got error %v, want %q", c.part, c.value, err, c.want)
		}
	}
	if _, err := skill.Read([]byte(`{"uri":"skill://A B/SKILL.md","frontmatter":{"name":"A B","description":"d"}}`)); err == nil || !strings.Contains(err.Error(), "its name") {
		t.Errorf("a name with a space: got %v, want an error", err)
	}
}

func TestCheck(t *testing.T) {
	s, err := skill.Read(entry(t, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	file, err := s.File("")
	if err := errors.Join(err, s.Check(file, []byte(body))); err != nil {
		t.Errorf("the listed file: got %v, want none", err)
	}
	for name, content := range map[string]string{"longer": body + "x", "other": strings.Replace(body, "Text", "Evil", 1)} {
		if err := s.Check(file, []byte(content)); !errors.Is(err, skill.ErrChanged) {
			t.Errorf("%s: got %v, want %v", name, err, skill.ErrChanged)
		}
	}
	for name, content := range map[string]string{
		"no frontmatter": "Text.", "no end": "---\nname: pdf", "another value": strings.Replace(body, "version: 2", "version: 3", 1),
		"one more": strings.Replace(body, "version: 2", "version: 2\nallowed-tools: Bash", 1), "no YAML": "---\n\t:\n---\n",
		"keys that are no texts": strings.Replace(body, "version", "1", 1), "too long": "---\n" + strings.Repeat("a: 1 #\n", 10<<10) + "---\n",
	} {
		s, err := skill.Read(entry(t, "resources", []any{fileOf("skill://a/pdf/SKILL.md", content)}))
		if err != nil {
			t.Fatal(err)
		}
		file, err := s.File("SKILL.md")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(file, []byte(content)); !errors.Is(err, skill.ErrChanged) || !strings.Contains(err.Error(), "frontmatter") {
			t.Errorf("%s: got %v, want that it has another frontmatter", name, err)
		}
	}
}

func TestHeading(t *testing.T) {
	s, err := skill.Read(entry(t, "resources", []any{fileOf("skill://a/pdf/SKILL.md", body), fileOf("skill://a/pdf/a.md", "a"), fileOf("skill://a/pdf/b.md", "b")}))
	if err != nil {
		t.Fatal(err)
	}
	s.Server = "docs"
	file, err := s.File("")
	if err != nil {
		t.Fatal(err)
	}
	const names = "[skill pdf of the server docs, file SKILL.md. Its other files, to be read when they are needed: a.md (1 bytes)"
	if got, want := s.Heading(file, 1<<10), names+" b.md (1 bytes)]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.Heading(file, len(names)), names+" and 1 more]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzSkill: no entry and no file makes the package panic, and a skill that it takes has
// its SKILL.md.
func FuzzSkill(f *testing.F) {
	f.Add(entry(f, "", nil), []byte(body))
	f.Add([]byte(`{"uri":"x://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":[]}`), []byte("---\n&a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, raw, content []byte) {
		s, err := skill.Read(raw)
		if err != nil {
			return
		}
		file, err := s.File("")
		if err != nil || !s.Main(file) {
			t.Fatalf("got %+v, %v; want SKILL.md", file, err)
		}
		_ = s.Check(file, content)
		// A file that is as listed is read to its end.
		listed := entry(t, "resources", []any{fileOf("skill://a/pdf/SKILL.md", string(content))})
		if s, err = skill.Read(listed); err != nil {
			return
		}
		if file, err = s.File(""); err != nil {
			t.Fatal(err)
		}
		_ = s.Check(file, content)
		_ = s.Heading(file, 100)
	})
}
