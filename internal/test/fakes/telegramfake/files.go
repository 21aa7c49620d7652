package telegramfake

import (
	"fmt"
	"io"
	"mime/multipart"
	"strings"
)

// maxCaption is the most that stands under a file, in UTF-16 units.
const maxCaption = 1024

// File is a document that the bot sent.
type File struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`
	Size    int    `json:"size"`
	Content []byte `json:"content,omitempty"`
}

// ForbidFiles makes a chat one where the bot may write but not send documents,
// or takes that back.
func (s *botAPI) ForbidFiles(chatID int64, forbid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chatID).noFiles = forbid
}

// readFiles takes the files out of a form.
func readFiles(form *multipart.Form, most int64) (map[string]File, *refusal) {
	files := map[string]File{}
	if form == nil {
		return files, nil
	}
	for name, list := range form.File {
		head := list[0]
		if head.Size > most {
			return nil, tooLarge()
		}
		content, err := readFile(head)
		if err != nil {
			return nil, bad("can't read the file")
		}
		files[name] = File{Name: head.Filename, Type: head.Header.Get("Content-Type"), Size: len(content), Content: content}
	}
	return files, nil
}

func readFile(head *multipart.FileHeader) ([]byte, error) {
	f, err := head.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// logged is what the log says of the files of a call.
func logged(files map[string]File) *File {
	for _, f := range files {
		f.Content = nil
		return &f
	}
	return nil
}

func (s *botAPI) sendDocument(c *call) (any, *refusal) {
	if c.chat.noFiles {
		return nil, bad("not enough rights to send documents to the chat")
	}
	file, why := c.document()
	if why != nil {
		return nil, why
	}
	m := Message{From: s.Bot, Bot: true, Media: "document", File: &file, Silent: c.params.bool("disable_notification")}
	if m.Text, m.Entities, why = s.content(c, "caption", "caption_entities"); why != nil {
		return nil, why
	}
	if Length(m.Text) > maxCaption {
		return nil, bad("message caption is too long")
	}
	if m.Buttons, why = s.markup(c); why != nil {
		return nil, why
	}
	return s.send(c, m)
}

// document finds the file that a call is about: one that came along under the
// parameter's own name, or under another that it names.
func (c *call) document() (File, *refusal) {
	name := "document"
	if to, attached := strings.CutPrefix(c.params[name], "attach://"); attached {
		name = to
	} else if c.params[name] != "" { // the id of an earlier file, or an address: legwork needs neither
		return File{}, bad("wrong remote file identifier specified: Wrong character in the string")
	}
	file, came := c.files[name]
	switch {
	case !came:
		return File{}, bad("there is no document in the request")
	case file.Size == 0:
		return File{}, bad("file must be non-empty")
	}
	return file, nil
}

func (f *File) json() map[string]any {
	return map[string]any{
		"file_id": "AgADfile", "file_unique_id": "QQAD", "file_size": f.Size, "file_name": f.Name, "mime_type": f.Type,
	}
}

// media is what a message shows in place of a text.
func (m Message) media() string {
	if m.File == nil {
		return m.Media
	}
	return fmt.Sprintf("%s %s, %d bytes", m.Media, m.File.Name, m.File.Size)
}
