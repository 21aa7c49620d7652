package terminal

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// key is one key press, or one paste.
type key struct {
	name keyName
	text string // of keyText and keyPaste
}

type keyName string

const (
	keyText          keyName = "text"
	keyPaste         keyName = "paste"
	keyEnter         keyName = "enter"
	keyNewline       keyName = "newline"
	keyTab           keyName = "tab"
	keyEscape        keyName = "escape"
	keyBackspace     keyName = "backspace"
	keyDelete        keyName = "delete"
	keyLeft          keyName = "left"
	keyRight         keyName = "right"
	keyUp            keyName = "up"
	keyDown          keyName = "down"
	keyHome          keyName = "home"
	keyEnd           keyName = "end"
	keyWordLeft      keyName = "word left"
	keyWordRight     keyName = "word right"
	keyKillWordLeft  keyName = "kill word left"
	keyKillWordRight keyName = "kill word right"
	keyKillToStart   keyName = "kill to start"
	keyKillToEnd     keyName = "kill to end"
	keyYank          keyName = "yank"
	keyPrevious      keyName = "previous"
	keyNext          keyName = "next"
	keySearch        keyName = "search"
	keyRedraw        keyName = "redraw"
	keyInterrupt     keyName = "interrupt"
	keyLeave         keyName = "leave"
)

// Bounds of the decoder, in bytes.
const (
	maxSequence = 64
	maxPaste    = 8 << 20
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// decoder makes keys from the bytes of a terminal, which may arrive in any pieces
// (invisible-island.net/xterm/ctlseqs).
type decoder struct {
	rest    []byte // the beginning of a sequence
	pasting bool
	paste   []byte
}

// waiting reports whether the beginning of a sequence is held back. When nothing
// follows for a moment, flush decodes it.
func (d *decoder) waiting() bool { return len(d.rest) > 0 && !d.pasting }

// flush decodes the bytes that were held back: a lone ESC is the escape key.
func (d *decoder) flush() []key {
	if !d.waiting() {
		return nil
	}
	rest := d.rest
	d.rest = nil
	if len(rest) == 1 && rest[0] == 0x1b {
		return []key{{name: keyEscape}}
	}
	return nil
}

// feed decodes further bytes.
func (d *decoder) feed(p []byte) []key {
	in := append(d.rest, p...)
	d.rest = nil
	var keys []key
	for len(in) > 0 {
		if d.pasting {
			var k []key
			in, k = d.feedPaste(in)
			keys = append(keys, k...)
			continue
		}
		n, k := next(in)
		if n == 0 {
			d.rest = bytes.Clone(in)
			break
		}
		if string(in[:n]) == pasteStart {
			d.pasting = true
		} else if k.name == keyText && len(keys) > 0 && keys[len(keys)-1].name == keyText {
			keys[len(keys)-1].text += k.text
		} else if k.name != "" {
			keys = append(keys, k)
		}
		in = in[n:]
	}
	return keys
}

// feedPaste collects pasted bytes up to their end mark.
func (d *decoder) feedPaste(in []byte) (rest []byte, keys []key) {
	if i := bytes.Index(in, []byte(pasteEnd)); i >= 0 {
		d.collect(in[:i])
		keys = []key{{name: keyPaste, text: pastedText(d.paste)}}
		d.pasting, d.paste = false, nil
		return in[i+len(pasteEnd):], keys
	}
	keep := 0 // the beginning of the end mark stays for the next piece
	for n := min(len(in), len(pasteEnd)-1); n > 0; n-- {
		if strings.HasPrefix(pasteEnd, string(in[len(in)-n:])) {
			keep = n
			break
		}
	}
	d.collect(in[:len(in)-keep])
	d.rest = bytes.Clone(in[len(in)-keep:])
	return nil, nil
}

func (d *decoder) collect(p []byte) {
	d.paste = append(d.paste, p[:min(len(p), maxPaste-len(d.paste))]...)
}

// pastedText is pasted text as it was copied: terminals send returns for newlines.
func pastedText(p []byte) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(p))
}

// next decodes the first key of in and returns its length; 0 when it is
// incomplete. A key without a name must be ignored.
func next(in []byte) (int, key) {
	c := in[0]
	switch {
	case c == 0x1b:
		return escapeSequence(in)
	case c < 0x20 || c == 0x7f:
		return 1, key{name: controlKey(c)}
	case !utf8.FullRune(in):
		return 0, key{}
	}
	r, n := utf8.DecodeRune(in)
	if r >= 0x80 && r < 0xa0 {
		return n, key{}
	}
	return n, key{name: keyText, text: string(r)}
}

// controlKey is the key of a control character.
func controlKey(c byte) keyName {
	switch c {
	case '\r':
		return keyEnter
	case '\n':
		return keyNewline
	case '\t':
		return keyTab
	case 0x7f, 'H' & 31:
		return keyBackspace
	}
	return map[byte]keyName{
		'A': keyHome, 'B': keyLeft, 'C': keyInterrupt, 'D': keyLeave, 'E': keyEnd, 'F': keyRight,
		'K': keyKillToEnd, 'L': keyRedraw, 'N': keyNext, 'P': keyPrevious, 'R': keySearch,
		'U': keyKillToStart, 'W': keyKillWordLeft, 'Y': keyYank,
	}[c|0x40]
}

// escapeSequence decodes what starts with ESC: a sequence, or a key pressed with Alt.
func escapeSequence(in []byte) (int, key) {
	if len(in) == 1 {
		return 0, key{}
	}
	switch in[1] {
	case '[':
		return csiSequence(in)
	case 'O':
		if len(in) == 2 {
			return 0, key{}
		}
		return 3, key{name: csiKey(in[2], "")}
	case 0x1b: // ESC twice: the first one was a key
		return 1, key{name: keyEscape}
	}
	name := map[byte]keyName{
		'\r': keyNewline, '\n': keyNewline, 'b': keyWordLeft, 'f': keyWordRight,
		'd': keyKillWordRight, 0x7f: keyKillWordLeft, 0x08: keyKillWordLeft,
	}[in[1]]
	return 2, key{name: name}
}

// csiSequence decodes ESC [ parameters final.
func csiSequence(in []byte) (int, key) {
	for i := 2; i < len(in) && i < maxSequence; i++ {
		switch c := in[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, key{name: csiKey(c, string(in[2:i]))}
		case c < 0x20 || c > 0x7e: // incomplete
			return i, key{}
		}
	}
	if len(in) >= maxSequence {
		return maxSequence, key{}
	}
	return 0, key{}
}

// csiKey is the key of a sequence's last byte and its parameters.
func csiKey(c byte, parameters string) keyName {
	first, modifiers, _ := strings.Cut(parameters, ";")
	modified := modifiers != "" && modifiers != "1"
	name := string(c)
	switch {
	case c == 'u' && first == "13": // Enter in the kitty protocol
		if modified {
			return keyNewline
		}
		return keyEnter
	case c == '~' && first == "27" && strings.HasSuffix(modifiers, ";13"):
		return keyNewline
	case c == '~':
		name = first + name
	}
	if modified && modifiers != "2" { // with Ctrl or Alt
		if key := (map[string]keyName{"C": keyWordRight, "D": keyWordLeft, "3~": keyKillWordRight})[name]; key != "" {
			return key
		}
	}
	return map[string]keyName{
		"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "H": keyHome, "F": keyEnd,
		"M":  keyEnter, // of the numeric pad
		"1~": keyHome, "7~": keyHome, "4~": keyEnd, "8~": keyEnd, "3~": keyDelete,
	}[name]
}
