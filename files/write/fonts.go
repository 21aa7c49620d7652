package write

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationmonobold"
	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansbolditalic"
	"codeberg.org/go-fonts/liberation/liberationsansitalic"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/sfnt"
)

const (
	maxFontFiles = 5000     // looked at in all folders
	maxFontSize  = 64 << 20 // bytes
	maxFallbacks = 8        // fonts of one file beside Liberation
)

// face is a font.
type face struct {
	name string
	data []byte
	font *sfnt.Font
	buf  *sfnt.Buffer
}

func newFace(name string, data []byte) (*face, error) {
	parsed, err := sfnt.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading font %s: %w", name, err)
	}
	return &face{name: name, data: data, font: parsed, buf: &sfnt.Buffer{}}, nil
}

func (f *face) has(r rune) bool {
	if r > 0xFFFF { // the PDF library knows no others
		return false
	}
	glyph, err := f.font.GlyphIndex(f.buf, r)
	return err == nil && glyph != 0
}

// fonts are those of one file: Liberation, which is part of the program and has
// Latin, Cyrillic and Greek, and fonts of the system for what it lacks.
type fonts struct {
	own   map[string]*face // Liberation by name
	more  []*face
	known map[string]*face // by name of the first choice and character
}

// embedded returns a font of the program: "sans" or "mono", with "B" and "I".
func embedded(name string) []byte {
	switch name {
	case "sansB":
		return liberationsansbold.TTF
	case "sansI":
		return liberationsansitalic.TTF
	case "sansBI":
		return liberationsansbolditalic.TTF
	case "mono":
		return liberationmonoregular.TTF
	case "monoB":
		return liberationmonobold.TTF
	}
	return liberationsansregular.TTF
}

// newFonts finds fonts for a shaped text, or returns a *FontError. Signs and
// pictographs that no font has are no error: they are left out.
func newFonts(o Options, text string) (*fonts, error) {
	f := &fonts{own: map[string]*face{}, known: map[string]*face{}}
	missing := map[rune]bool{}
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || missing[r] || r < unicode.MaxASCII {
			continue
		}
		if script := scriptOf(r); strings.Contains(unshaped, " "+script+" ") {
			return nil, &FontError{Script: script, Sample: sample(map[rune]bool{r: true}), Unshaped: true}
		}
		if f.ofOwn("sans", r) == nil {
			missing[r] = true
		}
	}
	if len(missing) > 0 {
		f.search(o.Fonts, missing)
	}
	var first rune
	for _, r := range text {
		if missing[r] && (unicode.IsLetter(r) || unicode.IsNumber(r)) && !replaceable(r) {
			first = r
			break
		}
	}
	if first == 0 {
		return f, nil
	}
	script := scriptOf(first)
	same := map[rune]bool{}
	for r := range missing {
		if scriptOf(r) == script {
			same[r] = true
		}
	}
	return nil, &FontError{Script: script, Sample: sample(same), Package: debianFont(script)}
}

// pick returns the font for a character: the named one of Liberation where it has it,
// otherwise another, and nil where none has.
func (f *fonts) pick(name string, r rune) *face {
	key := name + string(r)
	if known, ok := f.known[key]; ok {
		return known
	}
	picked := f.ofOwn(name, r)
	for _, more := range f.more {
		if picked == nil && more.has(r) {
			picked = more
		}
	}
	f.known[key] = picked
	return picked
}

func (f *fonts) ofOwn(name string, r rune) *face {
	for _, name := range []string{name, "sans", "mono"} {
		own, ok := f.own[name]
		if !ok {
			var err error
			if own, err = newFace(name, embedded(name)); err != nil {
				panic(err) // it is part of the program
			}
			f.own[name] = own
		}
		if own.has(r) {
			return own
		}
	}
	return nil
}

// search adds fonts until each missing character has one, and removes those that
// were found. It prefers fonts of few files that cover whole scripts.
func (f *fonts) search(folders []string, missing map[rune]bool) {
	for _, path := range fontFiles(append(slices.Clone(folders), systemFonts()...)) {
		if len(missing) == 0 || len(f.more) == maxFallbacks {
			return
		}
		data, err := fontData(path, missing)
		if err != nil {
			continue // another one may do
		}
		found, err := newFace(fmt.Sprintf("more%d", len(f.more)), data)
		if err != nil {
			continue
		}
		before := len(missing)
		for r := range missing {
			if found.has(r) {
				delete(missing, r)
			}
		}
		if len(missing) < before {
			f.more = append(f.more, found)
		}
	}
}

// fontData reads a font that has outlines of TrueType, which the PDF library needs,
// and one of the characters.
func fontData(path string, wanted map[rune]bool) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() > maxFontSize {
		return nil, fs.ErrInvalid
	}
	head := make([]byte, 12+16*64)
	n, _ := file.ReadAt(head, 0)
	if head = head[:n]; n < 12 || binary.BigEndian.Uint32(head) != 0x00010000 || !strings.Contains(string(head), "glyf") {
		return nil, fs.ErrInvalid
	}
	parsed, err := sfnt.ParseReaderAt(file)
	if err != nil {
		return nil, err
	}
	probe := face{font: parsed, buf: &sfnt.Buffer{}}
	for r := range wanted {
		if probe.has(r) {
			return os.ReadFile(path)
		}
	}
	return nil, fs.ErrNotExist
}

// fontFiles lists .ttf files of folders, the plain and the broad ones first, always in
// the same order.
func fontFiles(folders []string) []string {
	var all []string
	for _, folder := range folders {
		var here []string
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // a folder that is not there or cannot be read has no fonts
			}
			if strings.EqualFold(filepath.Ext(path), ".ttf") && !d.IsDir() {
				here = append(here, path)
			}
			if len(here) > maxFontFiles {
				return fs.SkipAll
			}
			return nil
		})
		slices.SortStableFunc(here, func(a, b string) int {
			if d := fontRank(a) - fontRank(b); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		all = append(all, here...)
	}
	return all
}

func fontRank(path string) int {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for rank, prefix := range []string{"DejaVuSans", "NotoSans-Regular", "NotoSansArabic-Regular", "NotoSansHebrew-Regular", "NotoSansSymbols", "DroidSansFallbackFull", "DroidSansFallback", "NotoSans"} {
		if name == prefix || rank > 0 && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, "Regular") {
			return rank
		}
	}
	if strings.ContainsAny(name, "-") && !strings.HasSuffix(name, "-Regular") {
		return 20 // bold, italic, condensed
	}
	return 10
}

func systemFonts() []string {
	folders := []string{"/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts", `C:\Windows\Fonts`}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".local", "share", "fonts"), filepath.Join(home, ".fonts"), filepath.Join(home, "Library", "Fonts"))
	}
	return folders
}

// unshaped are scripts whose letters change with their neighbours in ways that only
// a shaping engine knows.
const unshaped = " Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan Mongolian Syriac Nko "

func scriptOf(r rune) string {
	for _, common := range []string{"Han", "Arabic", "Hebrew", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Greek", "Latin"} {
		if unicode.Is(unicode.Scripts[common], r) {
			return common
		}
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name // each character is in one
		}
	}
	return "unknown"
}

func sample(of map[rune]bool) string {
	var all []rune
	for r := range of {
		all = append(all, r)
	}
	slices.Sort(all)
	return string(all[:min(len(all), 8)])
}

// debianFont is the smallest package of Debian with a font in the form that is needed.
func debianFont(script string) string {
	switch script {
	case "Han", "Hiragana", "Katakana", "Bopomofo":
		return "fonts-droid-fallback"
	case "Hangul":
		return "fonts-nanum"
	case "Arabic", "Hebrew", "Armenian", "Georgian", "Latin", "Greek", "Cyrillic", "Lao", "Tifinagh":
		return "fonts-dejavu-core"
	case "unknown":
		return ""
	}
	return "fonts-noto-core"
}

// instead are plain signs for some that few fonts have.
const instead = "☑✓☐□✅✓✔✓✓√❌×✖×✗×⚠!➜→➔→❗!❓?⭐★🔴●🟢●🟡●"

// replaceable reports signs that may be left out or shown as another.
func replaceable(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r > 0x2000 }

// substitute returns a sign that fonts have in place of one that they lack, or zero
// for one that is left out, such as a pictograph.
func (f *fonts) substitute(name string, r rune) rune {
	for range 2 { // ✅ may become ✓, and that √
		signs := []rune(instead)
		next := rune(0)
		for i := 0; i < len(signs); i += 2 {
			if signs[i] == r {
				next = signs[i+1]
			}
		}
		if next == 0 || f.pick(name, next) != nil {
			return next
		}
		r = next
	}
	return 0
}
