package inbox

import (
	"context"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// mediaKeys are the keys of the texts that name media. Other media are files.
var mediaKeys = map[string]string{
	"photo": "unread.photo", "sticker": "unread.sticker",
	"video": "unread.video", "animation": "unread.video", "video_note": "unread.video",
	"audio": "unread.audio", "voice": "unread.audio",
}

// unreadData names the media of a message in a language.
func (in *Inbox) unreadData(m bot.Message, lang string) map[string]any {
	key, ok := mediaKeys[m.Media]
	if !ok {
		key = "unread.file"
	}
	data := map[string]any{"Media": in.Texts.Text(lang, key, nil)}
	if m.MediaName != "" {
		data["Name"] = cards.InCode(cards.Line(m.MediaName))
	}
	return data
}

// withUnread adds a line about a message's media to the text of the message, so that
// models know that they do not see the media. The line is a quotation: titles leave
// it out.
func (in *Inbox) withUnread(r *Request, text string) string {
	if r.Message.Media == "" || text == "" {
		return text
	}
	return text + "\n\n> " + in.Texts.Text(r.Lang, "prompt.unread", in.unreadData(r.Message, r.Lang))
}

// sayUnread adds to a reply that legwork does not read the media of the message, if
// the text of the message goes to a task.
func (in *Inbox) sayUnread(r *Request, reply Reply) Reply {
	m := r.Message
	if m.Media == "" || m.Text == "" || m.Kind != bot.MessageText || !concernsTask(reply.Store) {
		return reply
	}
	before := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		unread := in.Notice(r, "notice.unread", in.unreadData(m, r.Lang))
		unread.Audience = ToChat
		if before == nil {
			return unread
		}
		n := before(ctx, receipts)
		switch {
		case n.Later != nil:
		case n.Text == "":
			return unread
		default:
			n.Text = strings.Join([]string{n.Text, unread.Text}, "\n\n")
		}
		return n
	}
	return reply
}

// concernsTask reports whether a delivery opens a task or gives words to one.
func concernsTask(store []tasks.Inbound) bool {
	for _, item := range store {
		if t := item.Event.Type; item.Open != nil || item.To != "" && (t == planner.GuidanceAdded || t == planner.Decided || t == planner.Heard) {
			return true
		}
	}
	return false
}
