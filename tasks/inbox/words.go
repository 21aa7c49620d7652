package inbox

import (
	"context"
	"fmt"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Data of the buttons under "Was that for the server?". The task's id and the seq
// of the event that holds the words follow.
const (
	pressGiveWords = "h"
	pressAskWords  = "n"
)

// holdWords keeps a text that came while a server's form was open and that does not
// reply to the form. It asks the author whether the text was for the server: such a
// text may be private, and a server is a third party. When the form is closed by the
// time the text is stored, the text opens a task, if its author may ask.
func holdWords(ctx context.Context, in *Inbox, r *Request, w textAnswer, server string) (Reply, error) {
	m := r.Message
	o, err := in.opening(ctx, r, m.Text)
	if err != nil {
		return Reply{}, err
	}
	item := in.OpeningDelivery(m.Key, m.Chat, o)
	if m.Overheard && !r.MayAsk {
		item.ID, item.Open = "", nil
	}
	item.To, item.Event = w.task.Task, planner.Event{Type: planner.Heard, At: in.Now(), Action: w.action, By: m.From.Key(), Text: m.Text, Message: m.ID}
	return Reply{Store: []tasks.Inbound{item}, Say: func(_ context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Seq == 0 || receipts[0].Opened {
			return Notice{}
		}
		n := in.Notice(r, "form.was_that", map[string]any{"Server": cards.InCode(server)})
		n.Kind, n.Audience = bot.KindQuestion, ToChat
		rest := fmt.Sprintf(":%s:%d", receipts[0].Task, receipts[0].Seq)
		n.Buttons = []bot.Button{in.Button(r.Lang, "button.for_server", pressGiveWords+rest), in.Button(r.Lang, "button.for_legwork", pressAskWords+rest)}
		return n
	}}, nil
}

// wordsPress gives the words that holdWords has kept to the server's form, or makes
// them a question of their own.
func wordsPress(ctx context.Context, in *Inbox, r *Request, verb string, id tasks.ID, rest string) (Reply, error) {
	t, known, err := findTask(ctx, in, r, id)
	if err != nil {
		return Reply{}, err
	}
	if !known {
		return in.ReplyText(r, "error.task_gone", nil), nil
	}
	e, err := numberedEvent(ctx, in, id, rest)
	switch {
	case err != nil:
		return Reply{}, err
	case e.Type != planner.Heard:
		return in.ReplyText(r, "error.too_late", nil), nil
	case e.By != r.Message.From.Key() && !r.Admin || verb == pressGiveWords && !r.Steers(t):
		return in.ReplyAside(r, "error.not_yours"), nil
	case verb == pressAskWords:
		return askWords(ctx, in, r, t, e)
	case !tasks.OpenAsk(t.State, e.Action): // the words can still be a question of their own
		return in.ReplyLater(r, func(ctx context.Context) Notice { return decidedNotice(ctx, in, r, id, e.Action) }), nil
	}
	words := *r
	words.Message.Kind, words.Message.Text, words.Message.ID, words.Message.Assumed = bot.MessageText, e.Text, e.Message, false
	out, err := formAnswer(ctx, in, &words, textAnswer{task: t, action: e.Action, reply: true})
	if err != nil || out.Reply.Store[0].To == "" {
		return withFormAgain(in, r, t, e, out.Reply), err
	}
	decided := out.Reply.Say
	out.Reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if n := decided(ctx, receipts); n.Text != "" {
			return n
		}
		n := in.Notice(r, "form.given", nil)
		n.Audience, n.Replace.Pressed = ToAuthor, true
		return n
	}
	return out.Reply, nil
}

// askWords makes kept words a question of their own. Each press counts once.
func askWords(ctx context.Context, in *Inbox, r *Request, t LiveTask, e planner.Event) (Reply, error) {
	o, err := in.opening(ctx, r, e.Text)
	if err != nil {
		return Reply{}, err
	}
	o.Message = e.Message
	n := in.Notice(r, "notice.separate", nil)
	n.Audience, n.Replace.Pressed = ToAuthor, true
	reply := in.Reply(r, n)
	reply.Store = []tasks.Inbound{in.OpeningDelivery(fmt.Sprintf("apart:%s:%d", t.Task, e.Seq), r.Message.Chat, o)}
	return withFormAgain(in, r, t, e, reply), nil
}

// withFormAgain shows an open form once more below a reply, where the form's message
// has left the screen.
func withFormAgain(in *Inbox, r *Request, t LiveTask, e planner.Event, reply Reply) Reply {
	if !r.Ephemeral || reply.Say == nil || !tasks.OpenAsk(t.State, e.Action) {
		return reply
	}
	before := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		n := questionCard(ctx, in, r, t.Task, e.Action)
		if first := before(ctx, receipts); first.Text != "" {
			n.Text = first.Text + "\n\n" + n.Text
		}
		return n
	}
	return reply
}
