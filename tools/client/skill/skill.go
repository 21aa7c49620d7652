// Package skill reads what an MCP server says about a skill, which is a folder of
// files with instructions for some work, and checks the files that the server sends.
// Its source is the Skills extension of MCP, SEP-2640:
// https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Extension is the name by which servers declare that they have skills, and List the
// method that lists them.
const (
	Extension = "io.modelcontextprotocol/skills"
	List      = "skills/list"
)

// Bounds on one skill. Those of "Limits" are what every host has to accept.
const (
	maxFiles       = 512
	maxBytes       = 16 << 20
	maxFrontmatter = 64 << 10
)

// main is the name of the file with the instructions.
const main = "SKILL.md"

// Skill is a skill as its server describes it.
type Skill struct {
	Server      string // the host's name of the server; set by the caller
	URI         string // of SKILL.md
	Name        string
	Description string
	Files       []File // all of them, by URI

	frontmatter json.RawMessage // an object
	folder      string          // what the URIs of all files begin with
}

// File is one file of a skill.
type File struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and hex digits, of the content
	Size   int    `json:"size"`   // of the content, in bytes
}

// Errors of files that are not what the server listed. They are wrapped.
var (
	ErrFile    = errors.New("the skill has no such file")
	ErrChanged = errors.New("the file is not the one that the server listed")
)

var (
	names   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Read reads an entry of skills/list. It refuses a skill whose files cannot be checked.
func Read(raw []byte) (Skill, error) {
	var entry struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		Resources   json.RawMessage `json:"resources"`
	}
	var about struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return Skill{}, fmt.Errorf("reading its entry: %w", err)
	}
	folder, found := strings.CutSuffix(entry.URI, main)
	s := Skill{URI: entry.URI, frontmatter: entry.Frontmatter, folder: folder}
	if err := json.Unmarshal(entry.Frontmatter, &about); err != nil {
		return s, fmt.Errorf("reading its frontmatter: %w", err)
	}
	s.Name, s.Description = about.Name, about.Description
	scheme, path, absolute := strings.Cut(folder, "://")
	switch {
	case !found || !absolute || scheme == "" || path != s.Name+"/" && !strings.HasSuffix(path, "/"+s.Name+"/"):
		return s, fmt.Errorf("its address is not that of %s in a folder of its name", main)
	case len(s.Name) > 64 || !names.MatchString(s.Name):
		return s, errors.New("its name is not one of small letters, digits and hyphens")
	case s.Description == "":
		return s, errors.New("it has no description")
	case len(s.frontmatter) > maxFrontmatter:
		return s, fmt.Errorf("its frontmatter has %d bytes; the limit is %d", len(s.frontmatter), maxFrontmatter)
	case string(bytes.TrimSpace(entry.Resources)) == `"dynamic"`:
		return s, errors.New("its content is made anew each time, so that it cannot be checked")
	}
	if err := json.Unmarshal(entry.Resources, &s.Files); err != nil {
		return s, fmt.Errorf("reading the list of its files: %w", err)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.URI, b.URI) })
	return s, s.checkFiles()
}

func (s Skill) checkFiles() error {
	if len(s.Files) > maxFiles {
		return fmt.Errorf("it has %d files; the limit is %d", len(s.Files), maxFiles)
	}
	size := 0
	for i, f := range s.Files {
		switch {
		case !strings.HasPrefix(f.URI, s.folder) || strings.HasSuffix(f.URI, "/") || strings.Contains(f.URI+"/", "/../") || strings.ContainsFunc(f.URI, notInURI):
			return fmt.Errorf("its list of files names %q, which is not in its folder", f.URI)
		case i > 0 && s.Files[i-1].URI == f.URI:
			return fmt.Errorf("its list of files names %q twice", f.URI)
		case !digests.MatchString(f.Digest) || f.Size < 0 || f.Size > maxBytes:
			return fmt.Errorf("its list of files has no digest or size of %q", f.URI)
		}
		size += f.Size
	}
	if size > maxBytes {
		return fmt.Errorf("its files have %d bytes; the limit is %d", size, maxBytes)
	}
	if _, err := s.File(""); err != nil {
		return fmt.Errorf("its list of files lacks %s", main)
	}
	return nil
}

// notInURI reports whether no URI has r, which could end the line of a Heading.
func notInURI(r rune) bool { return r <= ' ' || !unicode.IsPrint(r) }

// Label tells the skill from all others of its server: its path, of letters, digits,
// hyphens and underscores.
func (s Skill) Label() string {
	_, path, _ := strings.Cut(strings.TrimSuffix(s.folder, "/"), "://")
	return strings.Map(func(r rune) rune {
		if r == '-' || r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, path)
}

// Entry is the entry of skills/list, with its files sorted.
func (s Skill) Entry() map[string]any {
	return map[string]any{"uri": s.URI, "frontmatter": s.frontmatter, "resources": s.Files}
}

// File finds a file by its path in the folder of the skill; empty: SKILL.md.
func (s Skill) File(path string) (File, error) {
	if path = strings.TrimPrefix(path, "./"); path == "" {
		path = main
	}
	for _, f := range s.Files {
		if f.URI == path || f.URI == s.folder+path {
			return f, nil
		}
	}
	return File{}, fmt.Errorf("%w: %q", ErrFile, path)
}

// Main reports whether f is SKILL.md.
func (s Skill) Main(f File) bool { return f.URI == s.URI }

// Heading is the line above a file of the skill: it names where the file comes from.
// Above SKILL.md it names the other files as well, as far as most bytes suffice.
func (s Skill) Heading(f File, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[skill %s of the server %s, file %s.", s.Name, s.Server, strings.TrimPrefix(f.URI, s.folder))
	if others := slices.DeleteFunc(slices.Clone(s.Files), s.Main); s.Main(f) && len(others) > 0 {
		b.WriteString(" Its other files, to be read when they are needed:")
		for i, other := range others {
			name := fmt.Sprintf(" %s (%d bytes)", strings.TrimPrefix(other.URI, s.folder), other.Size)
			if b.Len()+len(name) > most {
				fmt.Fprintf(&b, " and %d more", len(others)-i)
				break
			}
			b.WriteString(name)
		}
	}
	return b.String() + "]\n"
}

// Check checks that content is what the server listed for f, and the frontmatter of
// SKILL.md too ("Integrity and Verification").
func (s Skill) Check(f File, content []byte) error {
	if len(content) != f.Size {
		return fmt.Errorf("%w: it has %d bytes, and the list says %d", ErrChanged, len(content), f.Size)
	}
	if sum := sha256.Sum256(content); "sha256:"+hex.EncodeToString(sum[:]) != f.Digest {
		return fmt.Errorf("%w: it has another digest", ErrChanged)
	}
	if !s.Main(f) {
		return nil
	}
	own, err := frontmatter(content)
	if err != nil {
		return fmt.Errorf("%w: reading its frontmatter: %w", ErrChanged, err)
	}
	var listed any
	if err := json.Unmarshal(s.frontmatter, &listed); err != nil || !reflect.DeepEqual(own, listed) {
		return fmt.Errorf("%w: it has another frontmatter", ErrChanged)
	}
	return nil
}

var fences = regexp.MustCompile(`(?s)^(?:\x{FEFF})?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)`)

// frontmatter is the YAML at the beginning of a SKILL.md as JSON has it.
func frontmatter(content []byte) (any, error) {
	m := fences.FindSubmatch(content)
	if m == nil {
		return nil, errors.New("there is none")
	}
	if len(m[1]) > maxFrontmatter {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(m[1]), maxFrontmatter)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(m[1], &node); err != nil {
		return nil, err
	}
	plainTimes(&node)
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	b, err := json.Marshal(value) // numbers become those of JSON
	if err != nil {
		return nil, err
	}
	var plain any
	err = json.Unmarshal(b, &plain)
	return plain, err
}

// plainTimes makes texts of times, which JSON does not have.
func plainTimes(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, part := range n.Content {
		plainTimes(part)
	}
}
