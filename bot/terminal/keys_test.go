package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecoder(t *testing.T) {
	text := func(s string) key { return key{name: keyText, text: s} }
	for _, c := range []struct {
		in   string
		want []key
	}{
		{"ab é 世", []key{text("ab é 世")}},
		{"a\rb\n\t\x7f", []key{text("a"), {name: keyEnter}, text("b"), {name: keyNewline}, {name: keyTab}, {name: keyBackspace}}},
		{"\x01\x05\x15\x0b\x17\x19\x12\x0c", []key{
			{name: keyHome},
			{name: keyEnd},
			{name: keyKillToStart},
			{name: keyKillToEnd},
			{name: keyKillWordLeft},
			{name: keyYank},
			{name: keySearch},
			{name: keyRedraw},
		}},
		{"\x03\x04", []key{{name: keyInterrupt}, {name: keyLeave}}},
		{"\x1b[A\x1b[B\x1bOC\x1bOD", []key{{name: keyUp}, {name: keyDown}, {name: keyRight}, {name: keyLeft}}},
		{"\x1b[1;5C\x1b[1;3D\x1bb\x1bf", []key{{name: keyWordRight}, {name: keyWordLeft}, {name: keyWordLeft}, {name: keyWordRight}}},
		{"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", []key{{name: keyHome}, {name: keyEnd}, {name: keyHome}, {name: keyEnd}, {name: keyDelete}}},
		{"\x1b\r\x1b[13;2u\x1b[27;2;13~\x1b[13u", []key{{name: keyNewline}, {name: keyNewline}, {name: keyNewline}, {name: keyEnter}}},
		{"\x1bd\x1b\x7f", []key{{name: keyKillWordRight}, {name: keyKillWordLeft}}},
		{"\x1b[200~a\rb\r\nc\x1b[31m\x1b[201~d", []key{{name: keyPaste, text: "a\nb\nc\x1b[31m"}, text("d")}},
		{"\x1b[99;99Xa\x1b[?25ha", []key{text("a"), text("a")}},
		{"\x1b[5\x01", []key{{name: keyHome}}},
		{"\xffa", []key{text("\uFFFDa")}},
		{"\u009b31m", []key{text("31m")}},
	} {
		var d decoder
		if diff := cmp.Diff(joined(c.want), joined(d.feed([]byte(c.in))), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q (-want +got):\n%s", c.in, diff)
		}
		var slow decoder
		var got []key
		for i := range len(c.in) {
			got = append(got, slow.feed([]byte{c.in[i]})...)
		}
		if diff := cmp.Diff(joined(c.want), joined(got), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q, byte by byte (-want +got):\n%s", c.in, diff)
		}
	}
}

// joined puts texts together that follow each other: how they were split
// depends on how the bytes arrived.
func joined(keys []key) []key {
	var all []key
	for _, k := range keys {
		if n := len(all); n > 0 && k.name == keyText && all[n-1].name == keyText {
			all[n-1].text += k.text
			continue
		}
		all = append(all, k)
	}
	return all
}

func TestDecoderTellsEscapeFromSequences(t *testing.T) {
	var d decoder
	if got := d.feed([]byte("\x1b")); len(got) != 0 || !d.waiting() {
		t.Fatalf("after ESC: got %v, waiting %v; want it held back", got, d.waiting())
	}
	if got := d.flush(); len(got) != 1 || got[0].name != keyEscape || d.waiting() {
		t.Errorf("after a while: got %v, want the escape key", got)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\x1b[1;5C\xe4\xb8"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut < 0 || cut > len(in) {
			cut = len(in) / 2
		}
		var whole, parts decoder
		want := joined(whole.feed(in))
		got := parts.feed(in[:cut])
		got = joined(append(got, parts.feed(in[cut:])...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q change when it is cut at %d (-whole +cut):\n%s", in, cut, diff)
		}
		var e editor
		for _, k := range want {
			e.apply(k)
		}
		rows, row, column := e.layout(10)
		if row >= len(rows) || column > 10 || e.pos > len(e.text) {
			t.Errorf("after %q the cursor is at row %d of %d, column %d of 10", in, row, len(rows), column)
		}
	})
}
