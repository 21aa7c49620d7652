package telegramfake

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // of photos
	_ "image/png"
	"io"
	"mime/multipart"
	"strings"
)

// maxCaption is the most that stands under a file, in UTF-16 units.
const maxCaption = 1024

// The limits of photos (core.telegram.org/bots/api#sendphoto).
const (
	maxPhoto      = 10 << 20 // bytes
	maxPhotoSides = 10000    // width and height together
	maxPhotoRatio = 20
)

// File is one that stands in a chat.
type File struct {
	ID      string `json:"id,omitempty"` // its file_id; given by the fake
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`
	Size    int    `json:"size"` // given by the fake
	Seconds int    `json:"seconds,omitempty"`
	Content []byte `json:"content,omitempty"`
}

// ForbidFiles makes a chat one where the bot may write but not send documents,
// photos and sound, or takes that back.
func (s *botAPI) ForbidFiles(chatID int64, forbid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chatID).noFiles = forbid
}

// ForbidVoice makes a person refuse voice messages, or takes that back.
func (s *botAPI) ForbidVoice(u User, forbid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.private(u).noVoice = forbid
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

// sendMedia is a method that sends one kind of file. named is what the service calls
// several of them.
func sendMedia(kind, named string, check func(*botAPI, *call, File) *refusal) func(*botAPI, *call) (any, *refusal) {
	return func(s *botAPI, c *call) (any, *refusal) {
		if c.chat.noFiles {
			return nil, bad("not enough rights to send %s to the chat", named)
		}
		file, why := c.attached(kind)
		if why == nil && check != nil {
			why = check(s, c, file)
		}
		if why != nil {
			return nil, why
		}
		m := Message{From: s.Bot, Bot: true, Media: kind, File: &file, Silent: c.params.bool("disable_notification")}
		if m.Text, m.Entities, why = s.content(c, "caption", "caption_entities"); why != nil {
			return nil, why
		}
		if Length(m.Text) > maxCaption {
			return nil, bad("message caption is too long")
		}
		if m.Buttons, why = s.markup(c); why != nil {
			return nil, why
		}
		s.hold(kind, &file)
		return s.send(c, m)
	}
}

// attached finds the file that a call is about: one that came along under the
// parameter's own name, or under another that it names.
func (c *call) attached(kind string) (File, *refusal) {
	name := kind
	if to, attached := strings.CutPrefix(c.params[name], "attach://"); attached {
		name = to
	} else if c.params[name] != "" { // the id of an earlier file, or an address: legwork needs neither
		return File{}, bad("wrong remote file identifier specified: Wrong character in the string")
	}
	file, came := c.files[name]
	switch {
	case !came:
		return File{}, bad("there is no %s in the request", kind)
	case file.Size == 0:
		return File{}, bad("file must be non-empty")
	}
	return file, nil
}

func checkPhoto(_ *botAPI, _ *call, f File) *refusal {
	if f.Size > maxPhoto {
		return bad("file of size %d bytes is too big for a photo; the maximum size is %d bytes", f.Size, maxPhoto)
	}
	c, kind, err := image.DecodeConfig(bytes.NewReader(f.Content))
	if err != nil || kind != "jpeg" && kind != "png" {
		return bad("IMAGE_PROCESS_FAILED")
	}
	if c.Width+c.Height > maxPhotoSides || c.Width > maxPhotoRatio*c.Height || c.Height > maxPhotoRatio*c.Width {
		return bad("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// checkVoice refuses what the service would show as an ordinary file.
func checkVoice(s *botAPI, c *call, f File) *refusal {
	if c.chat.noVoice {
		return bad("VOICE_MESSAGES_FORBIDDEN")
	}
	if !bytes.HasPrefix(f.Content, []byte("OggS")) || !bytes.Contains(f.Content[:min(len(f.Content), 64)], []byte("OpusHead")) {
		s.violate("sendVoice with a file that is no OGG Opus")
	}
	return nil
}

func checkAudio(s *botAPI, _ *call, f File) *refusal {
	head := f.Content[:min(len(f.Content), 12)]
	mp3 := bytes.HasPrefix(head, []byte("ID3")) || len(head) > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0
	if m4a := len(head) == 12 && string(head[4:8]) == "ftyp"; !mp3 && !m4a {
		s.violate("sendAudio with a file that is neither MP3 nor M4A")
	}
	return nil
}

// media is what a message shows in place of a text.
func (m Message) media() string {
	if m.File == nil {
		return m.Media
	}
	return fmt.Sprintf("%s %s, %d bytes", m.Media, m.File.Name, m.File.Size)
}
