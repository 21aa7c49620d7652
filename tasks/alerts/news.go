package alerts

import (
	"context"
	"maps"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// News is one entry of a message to the admins.
type News struct {
	Key string // of its text
	// Data holds the fields of the text. All texts except Task are shown
	// unchanged, without formatting.
	Data map[string]any
	// Why is the key of a problem without "problem."; its text becomes the field
	// Reason. Empty: no reason.
	Why string
}

// The keys of the notices about tasks that wait for a person.
const (
	newsWaiting = "alert.task_waiting"
	newsReview  = "alert.task_review"
)

// maxNewsEntries is the maximum number of entries in one message to the admins.
const maxNewsEntries = 10

// maxNewsText is the maximum length, in runes, of a goal or problem in an entry.
const maxNewsText = 200

// PostNews posts one message to each admin in their language and waits for the
// result, so that the caller can keep messages that reached no admin. It logs an
// admin who cannot be reached, and returns an error when it reached none. An admin
// whose chat shows the card of a review gets no notice about that review.
func PostNews(ctx context.Context, in *inbox.Inbox, list []News) error {
	_, err := in.PostToAdmins(ctx, func(to inbox.PrivateChat) (d bot.Draft, _ string) {
		list := slices.DeleteFunc(slices.Clone(list), func(n News) bool { return n.Key == newsReview && asksIn(ctx, in, n, to.Chat) })
		if len(list) > 0 {
			d = newsDraft(ctx, in, to, list)
		}
		return d, ""
	})
	return err
}

// asksIn reports whether the chat shows the question of a task anyway.
func asksIn(ctx context.Context, in *inbox.Inbox, n News, chat bot.Chat) bool {
	name, _ := n.Data["Task"].(string)
	opened, err := in.Store.Event(ctx, tasks.ID(name), 1)
	if err != nil || opened.Opening == nil {
		return false
	}
	where := opened.Opening.Chat
	if to := opened.Opening.Notify; where.Platform == tasks.PlatformAPI && to != nil && to.Chat != nil {
		where = *to.Chat
	}
	return where.Room() == chat.Room()
}

// newsDraft is the message to an admin. It says how to decide about waiting tasks
// of programs. For a single task it has a button that shows the question.
// Questions of other tasks are decided in their own chats.
func newsDraft(ctx context.Context, in *inbox.Inbox, to inbox.PrivateChat, list []News) bot.Draft {
	d := bot.Draft{Kind: bot.KindNotice, Text: newsText(in, to.Lang, list)}
	card := ""
	for _, n := range list {
		if card == "" && n.waits() {
			card = newsCard(ctx, in, n)
		}
	}
	switch {
	case card == "":
	case len(list) == 1 && !to.Platform.Limits().Ephemeral:
		d.Buttons = []bot.Button{in.Button(to.Lang, "button.look", card)}
	default:
		d.Text += "\n\n" + in.SpellOn(to.Platform, to.Chat, in.Texts.Text(to.Lang, "alert.decide", nil))
	}
	return d
}

// waits reports whether the entry is about a task that waits for a person.
func (n News) waits() bool { return n.Key == newsWaiting || n.Key == newsReview }

// newsCard is the data of a button that shows the question of a program's task. It
// is empty when the task asks no question or belongs to a chat.
func newsCard(ctx context.Context, in *inbox.Inbox, n News) string {
	name, _ := n.Data["Task"].(string)
	id := tasks.ID(name)
	row, err := in.Store.Row(ctx, id)
	if err != nil || row.Chat.Platform != tasks.PlatformAPI {
		return ""
	}
	s, err := in.Store.State(ctx, id)
	if err != nil {
		return ""
	}
	data := ""
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk && (data == "" || n.Key == newsReview && a.ID.Subject == planner.SubjectReview) {
			data = inbox.CardData(id, tasks.AskOf(a.ID))
		}
	}
	return data
}

// newsText is the text of one entry, or a list of the first entries of many.
func newsText(in *inbox.Inbox, lang string, list []News) string {
	if len(list) == 1 {
		return newsItem(in, lang, list[0])
	}
	var lines []string
	for _, n := range list[:min(len(list), maxNewsEntries)] {
		lines = append(lines, "* "+strings.ReplaceAll(newsItem(in, lang, n), "\n", "\n  "))
	}
	if more := len(list) - len(lines); more > 0 {
		lines = append(lines, "* "+in.Texts.Text(lang, "board.more", map[string]any{"Count": more}))
	}
	return strings.Join(lines, "\n")
}

func newsItem(in *inbox.Inbox, lang string, n News) string {
	data := maps.Clone(n.Data)
	for name, value := range data {
		if text, ok := value.(string); ok && name != "Task" {
			data[name] = cards.PlainText(clip.Line(bot.Visible(text), maxNewsText))
		}
	}
	if n.Why != "" {
		data["Reason"] = in.Texts.Text(lang, "problem."+n.Why, map[string]any{"Task": data["Task"]})
	}
	text := in.Texts.Text(lang, n.Key, data)
	if id, _ := n.Data["Task"].(string); id != "" && in.Links != "" {
		text += "\n[" + in.Texts.Text(lang, "page.open", nil) + "](" + in.Links.Task(tasks.ID(id)) + ")"
	}
	return text
}
