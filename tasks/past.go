package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/planner"
)

// How much of a conversation the commands about its past read and show.
const (
	pastBytes   = 512 << 10
	pastTurns   = 10
	pastLooked  = 50 // turns among which a question is looked for
	forgetTime  = 10 * time.Minute
	pressForget = "f:" // "yes:UNIX-TIME" or "no" follows
)

// history lists the newest exchanges of the conversation.
func (in *Inbox) history(ctx context.Context, r *routed, _ string) error {
	turns, err := in.Store.History(ctx, r.message.Chat.Key(), "", pastBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	if len(turns) == 0 {
		in.say(r, "history.none", nil)
		return nil
	}
	var lines []string
	for _, t := range turns[max(0, len(turns)-pastTurns):] {
		lines = append(lines, "- "+in.Texts.Text(r.lang, "history.turn", map[string]any{
			"Elapsed": in.Now().Sub(t.At), "Goal": plainText(title(t.Goal)), "Answer": plainText(line(markdown.Plain(t.Answer))),
		}))
	}
	in.reply(r, said{text: strings.Join(lines, "\n")})
	return nil
}

// retry asks the person's newest question that has ended again.
func (in *Inbox) retry(ctx context.Context, r *routed, _ string) error {
	var last *planner.Opening
	err := in.eachPast(ctx, r, func(t Turn, o *planner.Opening) bool {
		running, live := r.find(t.Task) // an outcome may be seen before that is stored
		if o.From.Key() == r.message.From.Key() && (!live || running.state.Settled()) {
			last = o
		}
		return last == nil
	})
	if err != nil {
		return err
	}
	if last == nil {
		in.say(r, "error.nothing_to_retry", nil)
		return nil
	}
	return in.askAgain(ctx, r, last, r.message.Key)
}

// eachPast goes through the conversation's newest turns, the newest first, as
// long as look returns true.
func (in *Inbox) eachPast(ctx context.Context, r *routed, look func(Turn, *planner.Opening) bool) error {
	turns, err := in.Store.History(ctx, r.message.Chat.Key(), "", pastBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	for _, t := range slices.Backward(turns[max(0, len(turns)-pastLooked):]) {
		first, err := in.Store.Event(ctx, t.Task, 1)
		switch {
		case errors.Is(err, ErrNoTask), errors.Is(err, ErrDamaged), err == nil && first.Opening == nil:
		case err != nil:
			return fmt.Errorf("reading task %s: %w", t.Task, err)
		case !look(t, first.Opening):
			return nil
		}
	}
	return nil
}

// askAgain opens a task with the question of another one, under a dedupe key.
func (in *Inbox) askAgain(ctx context.Context, r *routed, before *planner.Opening, key string) error {
	o, err := in.opening(ctx, r, before.Goal)
	if err != nil {
		return err
	}
	o.Message, o.Preview, o.Prompt = before.Message, before.Preview, before.Prompt
	r.store = []Inbound{in.opens(key, r.message.Chat, o)}
	return nil
}

// forget asks whether the conversation is to be deleted, or deletes it.
func (in *Inbox) forget(_ context.Context, r *routed, rest string) error {
	switch {
	case !r.message.Chat.Private && !r.admin:
		in.say(r, "error.admins_only", nil)
	case strings.EqualFold(rest, "yes"):
		in.forgets(r, r.message.Key)
	default:
		s := in.sentence(*r, "notice.forget", nil)
		s.buttons = []bot.Button{
			in.button(r.lang, "button.forget", pressForget+"yes:"+strconv.FormatInt(in.Now().Unix(), 10)),
			in.button(r.lang, "button.keep", pressForget+"no"),
		}
		in.reply(r, s)
	}
	return nil
}

// forgetPress is the answer to that. A yes counts once, and not for long.
func (in *Inbox) forgetPress(r *routed, choice string) {
	if !r.message.Chat.Private && !r.admin {
		in.aside(r, "error.admins_only")
		return
	}
	yes, ok := strings.CutPrefix(choice, "yes:")
	if !ok {
		s := in.sentence(*r, "notice.kept", nil)
		s.instead = true
		in.reply(r, s)
		return
	}
	asked, err := strconv.ParseInt(yes, 10, 64)
	if age := in.Now().Sub(time.Unix(asked, 0)); err != nil || age < -forgetTime || age > forgetTime {
		in.say(r, "error.too_late", nil)
		return
	}
	in.forgets(r, "forget:"+r.message.Chat.Key()+":"+yes)
}

// forgets deletes what the conversation holds, once its message is stored: a
// delivery that comes again deletes nothing that was said since.
func (in *Inbox) forgets(r *routed, key string) {
	m := r.message
	r.store = []Inbound{{Key: key, Chat: m.Chat, Cut: true}}
	r.reply = func(ctx context.Context, _ []Receipt) said {
		n, err := in.Store.Forget(ctx, m.Chat.Key())
		if err != nil {
			in.Log.ErrorContext(ctx, "a conversation could not be deleted", "chat", m.Chat.Key(), "cause", err)
			return in.sentence(*r, "problem.internal", nil)
		}
		running := ""
		if live, err := in.Store.Live(ctx, m.Chat.Key()); err == nil && len(live) > 0 {
			running = "yes"
		}
		s := in.sentence(*r, "notice.forgotten", map[string]any{"Count": n, "Text": running})
		s.aloud, s.instead = m.Press == "", true
		return s
	}
}
