package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"legwork/tools/builtin/caller"
)

// rootPattern tells where the folders of callers are.
type rootPattern struct {
	fixed string   // what all of them have in common, an absolute path when base is one
	parts []string // below fixed, with {chat} and {person}
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}?|\}`)

func newRootPattern(root, base string) (rootPattern, error) {
	if root == "" {
		root = "workspace/{chat}"
	}
	if strings.ContainsRune(root, 0) {
		return rootPattern{}, errors.New("root contains a NUL; write the path of a folder")
	}
	for _, p := range placeholder.FindAllString(root, -1) {
		if p != "{chat}" && p != "{person}" {
			return rootPattern{}, fmt.Errorf("root contains %q; it can contain {chat} and {person}, and no other braces", p)
		}
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(base, root)
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(root)), "/")
	n := slices.IndexFunc(parts, func(s string) bool { return strings.Contains(s, "{") })
	if n < 0 {
		return rootPattern{fixed: filepath.Clean(root)}, nil
	}
	fixed := filepath.FromSlash(strings.Join(parts[:n], "/"))
	if fixed == "" && n > 0 {
		fixed = string(filepath.Separator)
	} else if fixed == "" {
		fixed = "."
	}
	return rootPattern{fixed, parts[n:]}, nil
}

// below is the path of a caller's folder under fixed.
func (p rootPattern) below(c caller.Caller) string {
	r := strings.NewReplacer("{chat}", folderName(c.Chat), "{person}", folderName(c.Person))
	return filepath.FromSlash(r.Replace(strings.Join(p.parts, "/")))
}

func (p rootPattern) path(c caller.Caller) string { return filepath.Join(p.fixed, p.below(c)) }

// open opens a caller's folder. When it does not exist it is made on request,
// otherwise the tree is empty. No person's folder can be a link to another's.
func (p rootPattern) open(c caller.Caller, create bool) (*tree, error) {
	if create {
		if err := os.MkdirAll(p.fixed, 0o700); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(p.fixed)
	if errors.Is(err, fs.ErrNotExist) {
		return &tree{}, nil
	} else if err != nil {
		return nil, err
	}
	below := p.below(c)
	if below == "" {
		return newTree(root)
	}
	defer func() { _ = root.Close() }()
	if create {
		if err := root.MkdirAll(below, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := root.Lstat(below)
	if errors.Is(err, fs.ErrNotExist) {
		return &tree{}, nil
	} else if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is not a folder")
	}
	sub, err := root.OpenRoot(below)
	if err != nil {
		return nil, err
	}
	return newTree(sub)
}

// maxFolderName keeps names within the 255 bytes that file systems allow, with
// room for what the config puts around them.
const maxFolderName = 120

// folderName makes a key such as "telegram:-100987" a name that every file
// system takes, and no two keys the same one, wherever capitals do not count
// either. Small letters, digits and "-" stay, ":" becomes "@", a capital gets
// a "_" before it, and any other byte is "=" and two hexadecimal digits.
func folderName(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-':
			b.WriteByte(c)
		case c == ':':
			b.WriteByte('@')
		case 'A' <= c && c <= 'Z':
			b.WriteByte('_')
			b.WriteByte(c - 'A' + 'a')
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	name := b.String()
	switch {
	case name == "":
		return "="
	case len(name) > maxFolderName:
		sum := sha256.Sum256([]byte(key))
		return "~" + hex.EncodeToString(sum[:])
	case reserved(name):
		return fmt.Sprintf("=%02x%s", name[0], name[1:])
	}
	return name
}
