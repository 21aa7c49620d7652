package slack

import (
	"cmp"
	"encoding/json"
	"strings"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
)

// fileInfo is a file in a message (docs.slack.dev/reference/objects/file-object). In
// channels that are shared with another organisation it may have an id alone.
type fileInfo struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Title    string  `json:"title"`
	Type     string  `json:"mimetype"`
	Mode     string  `json:"mode"`
	Subtype  string  `json:"subtype"`
	User     string  `json:"user"`
	Size     int64   `json:"size"`
	Millis   float64 `json:"duration_ms"`
	External bool    `json:"is_external"` // it lies outside of Slack
	Private  string  `json:"url_private"`
	Download string  `json:"url_private_download"`
}

// unread are the names of the files that legwork cannot fetch, for people.
func unread(files []fileInfo) string {
	var names []string
	for _, f := range files {
		if !f.given() {
			names = append(names, cmp.Or(f.Name, f.Title, "file"))
		}
	}
	return strings.Join(names, ", ")
}

// given reports whether Slack may give the file.
func (f fileInfo) given() bool { return f.ID != "" && f.Mode != tombstone }

// tombstone is the mode of a file that was deleted.
const tombstone = "tombstone"

// attachments are the files of a message as those that a person brings along. author is
// the message's author: a file without an owner is theirs. Files of others are From
// the id of their owner.
func attachments(files []fileInfo, person, author string) []bot.Attachment {
	var list []bot.Attachment
	for _, f := range files {
		if !f.given() {
			continue
		}
		a := bot.Attachment{
			Ref: f.ref().String(), Kind: f.kind(), Name: cmp.Or(f.Name, f.Title), Type: f.Type, Bytes: max(f.Size, 0), Seconds: int(max(f.Millis, 0) / 1000),
		}
		if owner := cmp.Or(f.User, author); owner != person {
			a.Others = true
			a.From = owner
		}
		list = append(list, a)
	}
	return list
}

// kind is how Slack shows a file. Clips, which people record in Slack, have a subtype.
func (f fileInfo) kind() bot.AttachmentKind {
	of, _, _ := strings.Cut(f.Type, "/")
	switch {
	case f.Subtype == "slack_audio":
		return bot.AttachVoice
	case f.Subtype == "slack_video", of == "video":
		return bot.AttachVideo
	case of == "audio":
		return bot.AttachAudio
	case of == "image":
		return bot.AttachPhoto
	}
	return bot.AttachDocument
}

// ref names the file for Fetch.
func (f fileInfo) ref() fileRef {
	if f.External {
		return fileRef{id: f.ID}
	}
	return fileRef{f.ID, cmp.Or(f.Download, f.Private)}
}

// fileRef is the Ref of an attachment: the id of a file and, where it is known, its
// address, which holds no secret.
type fileRef struct{ id, url string }

func (r fileRef) String() string { return strings.TrimSpace(r.id + " " + r.url) }

func parseFileRef(s string) fileRef {
	id, url, _ := strings.Cut(s, " ")
	return fileRef{id, url}
}

// messageFiles are the files of a message that Slack returned, and of the messages that
// it shares.
func messageFiles(m *slackgo.Message) (files []fileInfo) {
	raw, err := json.Marshal(struct {
		Files       []slackgo.File       `json:"files"`
		Attachments []slackgo.Attachment `json:"attachments"`
	}{m.Files, m.Attachments})
	var read struct {
		Files       []fileInfo   `json:"files"`
		Attachments []attachment `json:"attachments"`
	}
	if err != nil || json.Unmarshal(raw, &read) != nil {
		return nil
	}
	for _, a := range read.Attachments {
		read.Files = append(read.Files, a.Files...)
	}
	return read.Files
}

// nameOwners gives files the names of their owners in place of ids, where they are known.
func nameOwners(files []bot.Attachment, name func(id string) string) {
	for i, f := range files {
		if f.From != "" {
			files[i].From = cmp.Or(name(f.From), f.From)
		}
	}
}
