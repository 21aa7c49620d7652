package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// scanAll passes text through an intake and returns what the library sees.
func scanAll(t testing.TB, text string, maxString int, expect ...string) (out string, left []int, noise int) {
	t.Helper()
	in := &stdoutReader{
		src: iotest.HalfReader(strings.NewReader(text)), scan: messageScanner{maxString: maxString}, truncation: &truncation{},
		onNoise: func(string) { noise++ }, onEnd: func(string) {},
	}
	for _, id := range expect {
		in.truncation.expect(id)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatalf("reading through the intake: %v; input %.100q", err, text)
	}
	for _, id := range expect {
		left = append(left, in.truncation.take(id).dropped)
	}
	return string(b), left, noise
}

func TestIntake(t *testing.T) {
	const limit = 8
	for _, c := range []struct {
		name, in, want string
		cut, noise     int // of the answer with id 7
	}{
		{"a message passes", `{"id":7,"result":{"a":[1,"b"]}}` + "\n", `{"id":7,"result":{"a":[1,"b"]}}` + "\n", 0, 0},
		{"a long string is cut", `{"id":7,"result":"0123456789"}` + "\n", `{"id":7,"result":"01234567"}` + "\n", 2, 0},
		{"the id may come last", `{"result":"0123456789","id":7}` + "\n", `{"result":"01234567","id":7}` + "\n", 2, 0},
		{"an inner id is another", `{"result":{"id":7,"t":"0123456789"},"id":8}` + "\n", `{"result":{"id":7,"t":"01234567"},"id":8}` + "\n", 0, 0},
		{"escapes are not parted", `{"id":7,"result":"0123456\n89"}` + "\n", `{"id":7,"result":"0123456\n"}` + "\n", 2, 0},
		{"escapes count what they mean", `{"id":7,"result":"\u65e5\u672c\u8a9e\u00e9"}` + "\n", `{"id":7,"result":"\u65e5\u672c\u8a9e"}` + "\n", 2, 0},
		{"quotes and backslashes", `{"id":7,"result":"\"\\\"\\\"\\\"\\x"}` + "\n", `{"id":7,"result":"\"\\\"\\\"\\\"\\"}` + "\n", 1, 0},
		{"other lines are left out", "hello\n" + `{"id":7}` + "\nbye\n", `{"id":7}` + "\n", 0, 1},
		{"blank lines are nothing", "\n  \n" + `{"id":7}` + "\r\n", `{"id":7}` + "\r\n", 0, 0},
		{"half a message is noise", `{"id":7,"result":` + "\n", "", 0, 1},
	} {
		got, cuts, noise := scanAll(t, c.in, limit, "7")
		if got != c.want || cuts[0] != c.cut || noise != c.noise {
			t.Errorf("%s: %q: got %q, cut %d, noise %d; want %q, %d, %d", c.name, c.in, got, cuts[0], noise, c.want, c.cut, c.noise)
		}
	}
}

func TestIntakeOfTooLongLines(t *testing.T) {
	long := `{"result":[` + strings.Repeat(`"x",`, lineSlack) + `1],"id":"seven"}` + "\n" + `{"id":8}` + "\n"
	got, _, _ := scanAll(t, long, 8)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"seven","error":{"code":%d,"message":"the result is too large (%d bytes); ask for less"}}`, codeTooLarge, strings.Index(long, "\n"))
	if len(lines) != 2 || lines[0] != want || lines[1] != `{"id":8}` {
		t.Errorf("got %d lines, the first %.200q; want %q and %q", len(lines), lines[0], want, `{"id":8}`)
	}
}

// A large answer does not go through the library, which would copy it again and
// again; what the library would not understand is left to it.
func TestIntakeOfLargeAnswers(t *testing.T) {
	large := func(id, member, text string) string {
		return `{"id":` + id + `,"` + member + `":"` + strings.Repeat(text, reusable) + `"}` + "\n"
	}
	first, second := large("7", "result", "a"), large("7", "result", "b")
	for _, c := range []struct{ name, in, out, held string }{
		{"the first of two answers is held", first + second, `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n" + second, strings.TrimSpace(first)},
		{"what nobody waits for passes", large("8", "result", "a"), large("8", "result", "a"), ""},
		{"errors pass", large("7", "error", "a"), large("7", "error", "a"), ""},
		{"what is no JSON passes", large("7", "result", "\\x"), large("7", "result", "\\x"), ""},
	} {
		in := &stdoutReader{src: strings.NewReader(c.in), scan: messageScanner{maxString: 1 << 20}, truncation: &truncation{}, onEnd: func(string) {}}
		in.truncation.expect("7")
		out, err := io.ReadAll(in)
		held := in.truncation.take("7").whole
		if err != nil || string(out) != c.out || string(held) != c.held {
			t.Errorf("%s: the library got %d bytes, %.60q, and %d bytes were held, %v; want %d, %.60q and %d", c.name, len(out), out, len(held), err, len(c.out), c.out, len(c.held))
		}
	}
}

// FuzzIntake: valid messages stay valid JSON, with every string a beginning of
// what it was, and nothing makes a line longer than its bound.
func FuzzIntake(f *testing.F) {
	f.Add(`{"id":7,"result":{"t":"0123456789\u65e5\n"}}`, 8)
	f.Add("noise\n{\"a\":\"\\\\\"}\n", 1)
	f.Add(`{"a":"\ud83d\ude00"}`, 3)
	f.Fuzz(func(t *testing.T, text string, maxString int) {
		if maxString < 1 || maxString > 1<<16 {
			return
		}
		line := strings.ReplaceAll(text, "\n", " ") + "\n"
		got, _, _ := scanAll(t, line, maxString)
		if len(got) > len(line)+200 {
			t.Errorf("grew: got %d bytes from %d; input %q", len(got), len(line), text)
		}
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) == nil && !json.Valid([]byte(got)) {
			t.Errorf("valid JSON became %q; input %q, limit %d", got, text, maxString)
		}
	})
}

func BenchmarkIntake(b *testing.B) {
	line := []byte(`{"id":7,"result":"` + strings.Repeat("x", 1<<20) + "\"}\n")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		in := &stdoutReader{src: bytes.NewReader(line), scan: messageScanner{maxString: 1 << 10}, truncation: &truncation{}, onEnd: func(string) {}}
		if _, err := io.Copy(io.Discard, in); err != nil {
			b.Fatal(err)
		}
	}
}
