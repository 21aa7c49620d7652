package llm

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// drain reads every event of r.
func drain(r io.Reader) (list []string, err error) {
	e := newEvents(r, 0)
	for {
		data, err := e.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: {\"a\":1}\n\ndata: [DONE]\n\n", "data: a\r\ndata: b\r\n\r\n", ": c\rdata:{\"a\":\ndata:1}\n",
		"\xef\xbb\xbfdata: {\"s\":\"}\\\"{\"}", "{\n\"error\": \"x\"\n}\n", "<html>\nhi", "event: e\ndata\n\ndata: \n\n", "data: {\"a\":1}}}}\ndata: }{\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := drain(bytes.NewReader(in))
		if err != nil && !errors.Is(err, errEventTooLong) {
			t.Fatalf("error %v on %q", err, in)
		}
		bytewise, err2 := drain(iotest.OneByteReader(bytes.NewReader(in)))
		if !slices.Equal(whole, bytewise) || !errors.Is(err2, err) {
			t.Fatalf("%q, %v when read at once, %q, %v byte by byte; input %q", whole, err, bytewise, err2, in)
		}
		for _, data := range whole {
			if data == "" || strings.Contains(data, "\r") {
				t.Fatalf("event %q; input %q", data, in)
			}
		}
		// What the stream offers to go-openai is one line for each event.
		out, err := io.ReadAll(&stream{events: newEvents(bytes.NewReader(in), 0)})
		if err == nil && !bytes.HasSuffix(out, []byte("data: [DONE]\n\n")) {
			t.Fatalf("a success without the mark of the end: %q; input %q", out, in)
		}
		until := len(whole)
		if i := slices.Index(whole, doneMark); i >= 0 {
			until = i + 1
		}
		if n := bytes.Count(out, []byte("\n")); n != 2*until {
			t.Fatalf("%d lines for %d events: %q; input %q", n, until, out, in)
		}
	})
}

// The splitter must not depend on how the text is cut.
func TestSplitterIsIndependentOfPieces(t *testing.T) {
	t.Parallel()
	words := []string{"<think>", "</think>", "<thinking>", "</thinking>", "<", "</thi", " ", "\n", "a", "né"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "words"), "")
		split := func(pieces []string) (text, thinking string) {
			var s splitter
			for _, p := range append(pieces, "") {
				a, b := s.add(p)
				text, thinking = text+a, thinking+b
			}
			a, b := s.end()
			return text + a, thinking + b
		}
		var bytewise []string
		for i := range len(text) {
			bytewise = append(bytewise, text[i:i+1])
		}
		wantText, wantThinking := split([]string{text})
		gotText, gotThinking := split(bytewise)
		if strings.TrimLeft(gotText, " \n") != strings.TrimLeft(wantText, " \n") || gotThinking != wantThinking {
			t.Fatalf("%q in pieces: text %q, thinking %q; at once: %q, %q", text, gotText, gotThinking, wantText, wantThinking)
		}
	})
}
