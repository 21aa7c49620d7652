package record

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"legwork/internal/test/fakes/llmfake"
)

// The kinds of files that people send, as Telegram calls them.
const (
	Document = "document"
	Photo    = "photo"
	Voice    = "voice" // its words are the question
)

// File is one that a person sends with a question.
type File struct {
	Kind    string
	Name    string
	Type    string
	Content []byte
	Seconds int    // of Voice
	Says    string // what the answer says of it; empty: nothing
}

// shared is the content of a file that several people send.
const shared = "note of all: the same for everybody"

// ownPadding makes a text so long that a prompt holds only its beginning, and manyChunks one
// of several chunks in a database.
const (
	ownPadding = 20 << 10
	manyChunks = 300 << 10
)

// NewFile is the file of a question. Its content is that of no other, except where it is
// common.
func NewFile(kind, id string, how int, common bool) *File {
	switch kind {
	case Photo:
		content := llmfake.PNG(20+Hash(id)%90, 20+how%90)
		return &File{Kind: kind, Name: id + ".png", Type: "image/png", Content: content, Says: llmfake.SizeOf(content)}
	case Voice:
		seconds, _ := strconv.Atoi(id[1:]) // so that no other one of the run is as long
		return &File{Kind: kind, Name: id + ".ogg", Type: "audio/ogg", Content: llmfake.OGG(seconds), Seconds: seconds}
	}
	says := fmt.Sprintf("note of %s: %d", id, how)
	if common {
		says = shared
	}
	f := &File{Kind: Document, Name: id + ".txt", Type: "text/plain", Content: []byte(says + "\n"), Says: "file: " + says}
	switch {
	case common:
	case how%8 == 0:
		f.Content = append(f.Content, bytes.Repeat([]byte("Nothing else is here.\n"), manyChunks/22)...)
	case how%8 == 1:
		f.Content = append(f.Content, bytes.Repeat([]byte("Nothing else is here.\n"), ownPadding/22)...)
	}
	return f
}

// Makes are the files that a question wants.
func (in Input) Makes() []llmfake.Made {
	if in.Kind != Planned {
		return nil
	}
	return llmfake.ReadQuestion(in.Text).Makes()
}

// Paid reports whether a model makes a file, which costs money.
func Paid(m llmfake.Made) bool { return m.Kind == "png" || m.Kind == "ogg" }

// Holds reports whether a content is that of a made file, whole.
func Holds(m llmfake.Made, content []byte) bool {
	switch m.Kind {
	case "png":
		return bytes.Equal(content, llmfake.Drawn(m.Says))
	case "ogg":
		return bytes.Equal(content, llmfake.Spoken(m.Says))
	case "csv":
		return string(content) == "\ufeffWhat,Value\r\n"+m.Says+",12\r\n"
	case "md":
		return string(content) == "# Report\n\n"+m.Says+"\n"
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(archive.File, func(f *zip.File) bool {
		r, err := f.Open()
		if err != nil {
			return false
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		return err == nil && strings.Contains(string(text), m.Says)
	})
}

// IsCopy reports whether a name is that of a made file, or of a further copy of it in a
// folder: "q4-beta-2.csv".
func IsCopy(name string, m llmfake.Made) bool {
	ext := path.Ext(m.Name)
	number, ok := strings.CutPrefix(strings.TrimSuffix(name, ext), strings.TrimSuffix(m.Name, ext))
	return ok && strings.HasSuffix(name, ext) && (number == "" || len(number) > 1 && number[0] == '-' && strings.Trim(number[1:], "0123456789") == "")
}

// Sent is a file that stands in a chat or lies in a folder.
type Sent struct {
	Name    string
	Content []byte `json:"-"`
}

// Disk is what is stored of files at the end.
type Disk struct {
	Stored   []string // contents whose bytes are there when legwork has ended; nil: not read
	Known    []string // contents that the records name then
	Left     []string // copies, contents without an id and the like
	Swept    []string // contents whose bytes are there when the time of all uploads is over; nil: not read
	Referred []string // contents that journals refer to
}
