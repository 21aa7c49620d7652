package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/input"
)

// fieldsPress answers the open fields of a server's form at once.
func fieldsPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, e planner.Event) (Reply, error) {
	values, wrong, unknown := input.CheckFields(r.Message.Form, openFields(e, about))
	var refused bot.RefusedError
	for _, w := range wrong {
		refused.Mistakes = append(refused.Mistakes, bot.Mistake{Field: w.Field.Name, Reason: valueProblem(in, r, w.Err)})
	}
	if unknown != "" {
		name := cards.InCode(clip.Bytes(unknown, maxCommand))
		refused.Mistakes = append(refused.Mistakes, bot.Mistake{Field: unknown, Reason: in.Texts.Text(r.Lang, "form.bad_name", map[string]any{"Text": name})})
	}
	if len(refused.Mistakes) > 0 {
		return Reply{}, &refused
	}
	return decideFields(in, r, t, about, values), nil
}

// formPress answers a field of a server's form by a button, or all open ones.
func formPress(ctx context.Context, in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) (Reply, error) {
	if e.Question.SignIn != nil {
		return signInPress(ctx, in, r, t, about, verb, e.Question)
	}
	_, field := tasks.FormOf(e, about)
	if verb == cards.VerbFields && field != nil {
		return fieldsPress(in, r, t, about, e)
	}
	d := planner.Decision{Approve: true}
	switch n, bad := strconv.Atoi(verb); {
	case verb == cards.VerbDecline:
		d = planner.Decision{Text: r.Message.Text}
	case verb == cards.VerbYes && field == nil:
	case verb == cards.VerbOmit && field != nil && cards.MayOmit(*field):
		d.Value = field.Default
	case verb == cards.VerbRest:
		if values, ok := input.RestOmitted(openFields(e, about)); ok {
			return decideFields(in, r, t, about, values), nil
		}
		return in.ReplyText(r, "error.too_late", nil), nil
	case bad == nil && field != nil && n >= 0 && n < len(cards.ChoicesOf(in.Texts, r.Lang, *field)):
		d.Value = cards.ChoicesOf(in.Texts, r.Lang, *field)[n].Value
	default:
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	return decideCard(in, r, t, about, d), nil
}

// formAnswer answers a field of a server's form by a text that replies to its
// message. Where people cannot reply to one message, a text that begins with the name of
// an open field answers the form, too. When the value does not fit, the author gets the reason and the field
// stays open. When no field is open, only a reply to the form is handled here. What a voice
// message says is given to the server only when its author agrees: it may be heard wrong.
func formAnswer(ctx context.Context, in *Inbox, r *Request, w textAnswer) (Outcome, error) {
	e, err := in.Store.Event(ctx, w.task.Task, w.action.Seq)
	if err != nil {
		return Outcome{}, fmt.Errorf("reading question: %w", err)
	}
	_, field := tasks.FormOf(e, w.action)
	if field == nil {
		if !w.reply {
			return Outcome{}, nil
		}
		return took(in.ReplyText(r, "form.press", nil), nil)
	}
	fields := openFields(e, w.action)
	if named := !in.CanReply(r.Message.Chat) && input.NamesField(r.Message.Text, fields); !named && (!w.reply || r.Message.Assumed) || r.Message.Text == "" {
		return took(holdWords(ctx, in, r, w, e.Question.Server))
	}
	zone, err := in.Settings.Zone(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	open := slices.Clone(fields)
	for i := range open {
		open[i].Choices = cards.ChoicesOf(in.Texts, r.Lang, open[i])
	}
	values, err := input.ReadFields(r.Message.Text, open, zone)
	if err != nil {
		return took(in.ReplyText(r, "form.wrong", map[string]any{"Reason": fieldsProblem(in, r, *field, err)}), nil)
	}
	return took(decideFields(in, r, w.task, w.action, values), nil)
}

// fieldsProblem is the text that says why a text does not answer the open fields of a
// form, of which first is the one that the form's message asks for.
func fieldsProblem(in *Inbox, r *Request, first form.Field, err error) string {
	if unknown, ok := errors.AsType[*input.NameError](err); ok {
		return in.Texts.Text(r.Lang, "form.bad_name", map[string]any{"Text": cards.InCode(clip.Bytes(unknown.Name, maxCommand))})
	}
	reason := valueProblem(in, r, err)
	if wrong, ok := errors.AsType[*input.FieldError](err); ok && wrong.Field.Name != first.Name {
		reason = "**" + cards.PlainText(cards.Line(bot.Visible(cmp.Or(wrong.Field.Title, wrong.Field.Name)))) + "**: " + reason
	}
	return reason
}

// valueProblem is the text that says why a value does not fit its field.
func valueProblem(in *Inbox, r *Request, err error) string {
	why, limit := form.Other, ""
	if bad, ok := errors.AsType[*form.ValueError](err); ok {
		why, limit = bad.Key, cards.InCode(bad.Limit)
	}
	if why == form.DateTime {
		why = "time"
	}
	return in.Texts.Text(r.Lang, "form.bad_"+why, map[string]any{"Text": limit})
}

// decideFields stores the values of consecutive fields of a form, from the one of
// about on.
func decideFields(in *Inbox, r *Request, t LiveTask, about planner.ActionID, values []json.RawMessage) Reply {
	reply := decideCard(in, r, t, about, planner.Decision{Approve: true, Value: values[0]})
	for _, value := range values[1:] {
		about.Field++
		next := decideCard(in, r, t, about, planner.Decision{Approve: true, Value: value}).Store[0].Event
		next.Files = nil // the first event has them
		reply.Add(r, t.Task, next)
	}
	return reply
}

// openFields are the fields of a form that have no value yet.
func openFields(e planner.Event, about planner.ActionID) []form.Field {
	q, field := tasks.FormOf(e, about)
	if field == nil {
		return nil
	}
	return q.Fields[about.Field:]
}

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
	text := r.Message.Text
	question := input.WithUnread(in.Texts, r.Lang, r.Message, text) // the server gets the words alone
	item, err := answerOrQuestion(ctx, in, r, w, question, planner.Event{Type: planner.Heard, Text: text, Unread: strings.TrimPrefix(question, text), Earlier: r.Message.Earlier})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Store: []tasks.Inbound{item}, Say: func(_ context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Seq == 0 || receipts[0].Opened {
			return Notice{}
		}
		n := in.Notice(r, "form.was_that", map[string]any{"Server": cards.InCode(server)})
		n.Kind, n.Audience = bot.KindQuestion, ToChat
		rest := fmt.Sprintf(":%s:%d", receipts[0].Task, receipts[0].Seq)
		n.Buttons = []bot.Button{in.Button(r.Lang, "button.for_server", pressGiveWords+rest), in.Button(r.Lang, "button.for_legwork", pressAskWords+rest)}
		n.Sent = func(ctx context.Context, id string) { // the task removes the buttons when the form is settled
			if id == "" || r.Ephemeral {
				return
			}
			slot := cards.WordsSlot(receipts[0].Seq, w.action, r.Message.Chat.Key() != w.task.Chat.Key())
			err := in.Store.Append(ctx, w.task.Task, -1, 0,
				planner.Event{Type: planner.SendStarted, Slot: slot}, planner.Event{Type: planner.Sent, Slot: slot, Message: id})
			if err != nil && ctx.Err() == nil {
				in.Log.WarnContext(ctx, "question for whom words are not stored", "task", w.task.Task, "cause", err)
			}
		}
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
		reply, err := askApart(ctx, in, r, id, e)
		settleWords(in, r, t, e, rest, &reply)
		return withFormAgain(in, r, t, e, reply), err
	case !tasks.OpenAsk(t.State, e.Action): // the words can still be a question of their own
		return in.ReplyLater(r, func(ctx context.Context) Notice { return decidedNotice(ctx, in, r, id, e.Action) }), nil
	}
	words := *r
	words.Message.Kind, words.Message.Text, words.Message.ID, words.Message.Assumed = bot.MessageText, e.Text, e.Message, false
	if words.Message.Files = e.Files; e.Text == "" { // the files are in the task already
		words.Message.Files = nil
		var unheard string
		if words.Message.Text, unheard, err = heardWords(ctx, in, r, t, e); err != nil || unheard != "" {
			return withFormAgain(in, r, t, e, in.Reply(r, TextNotice(unheard))), err
		}
	}
	out, err := formAnswer(ctx, in, &words, textAnswer{task: t, action: e.Action, reply: true})
	if err != nil || out.Reply.Store[0].To == "" {
		return withFormAgain(in, r, t, e, out.Reply), err
	}
	settleWords(in, r, t, e, rest, &out.Reply)
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

// heardWords are the words of the voice message of the event e, or the sentence that says
// why there are none.
func heardWords(ctx context.Context, in *Inbox, r *Request, t LiveTask, e planner.Event) (words, unheard string, err error) {
	for _, f := range t.State.Files {
		if f.Source != e.Seq {
			continue
		}
		if f.Read == 0 {
			return "", in.Texts.Text(r.Lang, "form.not_heard_yet", nil), nil
		}
		read, err := in.Store.Event(ctx, t.Task, f.Read)
		if err != nil {
			return "", "", fmt.Errorf("reading what was heard: %w", err)
		}
		if !read.Read.Spoken {
			return "", planner.FileProblem(in.Texts, r.Lang, read.Read), nil
		}
		words = strings.TrimSpace(words + "\n" + read.Read.Text)
	}
	return words, "", nil
}

// settleWords notes that the pressed message has said for whom the words of the event e
// are, so that the end of the form does not change the message again.
func settleWords(in *Inbox, r *Request, t LiveTask, e planner.Event, number string, reply *Reply) {
	seq, _ := strconv.Atoi(number) // of e
	if slot := t.State.Slot(cards.WordsSlot(seq, e.Action, r.Message.Chat.Key() != t.Chat.Key())); slot.Message != "" {
		reply.Add(r, t.Task, planner.Event{Type: planner.Sent, At: in.Now(), Slot: slot.Name, Message: cards.SettledWords, Instead: slot.Message})
	}
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
