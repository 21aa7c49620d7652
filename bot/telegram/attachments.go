package telegram

import (
	"encoding/json"
	"slices"

	"legwork/bot"
)

// maxDownload is the largest file that Telegram's own server gives to bots, in bytes
// (core.telegram.org/bots/api#getfile).
const maxDownload = 20 << 20

// fileInfo is what Telegram says about a file, whatever its kind.
type fileInfo struct {
	ID       string  `json:"file_id"`
	Size     int64   `json:"file_size"`
	Name     string  `json:"file_name"`
	Type     string  `json:"mime_type"`
	Duration float64 `json:"duration"` // in seconds
	Width    int64   `json:"width"`
	Height   int64   `json:"height"`
}

// files are the files of a message that legwork takes: none for stickers, paid media and
// files in an unknown form. An animation comes with a document: it counts once.
func (m media) files() []bot.Attachment {
	for _, held := range []struct {
		raw  json.RawMessage
		kind bot.AttachmentKind
	}{
		{m.Animation, bot.AttachVideo},
		{m.Audio, bot.AttachAudio},
		{m.Document, bot.AttachDocument},
		{m.Video, bot.AttachVideo},
		{m.VideoNote, bot.AttachVideo},
		{m.Voice, bot.AttachVoice},
	} {
		var f fileInfo
		if json.Unmarshal(held.raw, &f) == nil && f.ID != "" {
			return []bot.Attachment{f.attachment(held.kind)}
		}
	}
	var sizes []fileInfo
	if json.Unmarshal(m.Photo, &sizes) != nil {
		return nil // there is none
	}
	var largest fileInfo
	for _, s := range sizes {
		if s.ID != "" && s.Size <= maxDownload && s.Width*s.Height >= largest.Width*largest.Height {
			largest = s
		}
	}
	if largest.ID == "" {
		return nil
	}
	largest.Type = "image/jpeg"
	return []bot.Attachment{largest.attachment(bot.AttachPhoto)}
}

func (f fileInfo) attachment(kind bot.AttachmentKind) bot.Attachment {
	return bot.Attachment{Ref: f.ID, Kind: kind, Name: f.Name, Type: f.Type, Bytes: max(f.Size, 0), Seconds: int(max(f.Duration, 0))}
}

// files are the files of a message, or of the messages of an album that it stands for.
func (m message) files() (list []bot.Attachment) {
	if len(m.album) == 0 {
		return m.media.files()
	}
	for _, part := range m.album {
		list = append(list, part.media.files()...)
	}
	return list
}

// sentFiles are the files of a message as its author sends them: those of a forwarded
// message have another author.
func (r reader) sentFiles(m message) []bot.Attachment {
	list := m.files()
	if m.forwarded() && !isAuthor(m.Origin.User, authorID(m)) {
		return filesOfOthers(list, m.Origin.name())
	}
	return list
}

// quotedFiles are the files of a message that the person by points at. A message of an
// album stands for all of the album that the bot has seen.
func (r reader) quotedFiles(m message, name string, by user) []bot.Attachment {
	list := m.files()
	if whole := r.albums.of(m).files; len(whole) > len(list) {
		list = nil
		for _, f := range whole {
			list = append(list, f.Attachment)
		}
	}
	author := m.From
	if m.forwarded() {
		author = m.Origin.User
	}
	if m.SenderChat == nil && isAuthor(author, by.ID) {
		return list
	}
	return filesOfOthers(list, name)
}

// isAuthor reports whether the author, who may be nil, is the person with that id.
func isAuthor(author *user, id int64) bool { return author != nil && id != 0 && author.ID == id }

// filesOfOthers marks files as those of another author than the person who sends the
// message. The name may be empty.
func filesOfOthers(list []bot.Attachment, name string) []bot.Attachment {
	for i := range list {
		list[i].From, list[i].Others = name, true
	}
	return list
}

// ownFiles marks files as those of the person who sends the message.
func ownFiles(list []bot.Attachment) []bot.Attachment {
	list = slices.Clone(list)
	for i := range list {
		list[i].From, list[i].Others = "", false
	}
	return list
}
