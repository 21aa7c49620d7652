package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// pressRevoke begins the data of a button that revokes a grant. The code of the
// grant follows.
const pressRevoke = "v:"

// maxListed is the maximum number of entries of each kind, and of buttons, in the
// reply to /approvals.
const maxListed = 20

// approvalsCommand lists the open decisions and the grants, or revokes a grant, or
// shows or accepts a changed tool.
func approvalsCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, rest string) (inbox.Reply, error) {
	verb, code, _ := strings.Cut(rest, " ")
	code = strings.TrimSpace(code)
	switch strings.ToLower(verb) {
	case "revoke":
		return revokeGrant(ctx, in, r, code)
	case "show":
		return decideChange(ctx, in, r, pressShow, code)
	case "accept":
		return decideChange(ctx, in, r, pressAccept, code)
	}
	return listApprovals(ctx, in, r)
}

// listing collects the parts of the reply to /approvals.
type listing struct {
	in      *inbox.Inbox
	r       *inbox.Request
	zone    string
	parts   []string
	buttons []bot.Button
}

func listApprovals(ctx context.Context, in *inbox.Inbox, r *inbox.Request) (inbox.Reply, error) {
	near, err := visibleTasks(ctx, in, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	zone, err := in.Settings.Timezone(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	l := &listing{in: in, r: r, zone: zone}
	if err := l.addWaiting(ctx, near); err != nil {
		return inbox.Reply{}, err
	}
	if err := l.addGrants(ctx, near); err != nil {
		return inbox.Reply{}, err
	}
	if r.Admin && r.Message.Chat.Private {
		l.addChanges(ctx)
	}
	if len(l.parts) == 0 {
		return in.ReplyText(r, "approvals.none", nil), nil
	}
	return in.Reply(r, inbox.Notice{Draft: bot.Draft{Text: in.SpellIn(r.Message.Chat, strings.Join(l.parts, "\n\n")), Buttons: l.buttons}}), nil
}

// visibleTasks lists the live tasks whose approvals a message's author may see. In a
// group these are the tasks of the chat with all its threads and topics. In a
// private chat they are the author's own tasks, and for admins all tasks.
func visibleTasks(ctx context.Context, in *inbox.Inbox, r *inbox.Request) ([]inbox.LiveTask, error) {
	all, err := in.Store.Live(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	m := r.Message
	return in.WithStates(ctx, slices.DeleteFunc(all, func(l tasks.Live) bool {
		return l.Chat.Room() != m.Chat.Room() && (!m.Chat.Private || l.From.Key() != m.From.Key() && !r.Admin)
	}))
}

// add adds a list under a heading. how is the key of a text below it; empty: none.
func (l *listing) add(heading string, lines []string, how string) {
	if len(lines) == 0 {
		return
	}
	text := l.text(heading, nil)
	if more := len(lines) - maxListed; more > 0 {
		lines = append(lines[:maxListed], l.text("board.more", map[string]any{"Count": more}))
	}
	text += "\n\n- " + strings.Join(lines, "\n- ")
	if how != "" {
		text += "\n\n" + l.text(how, nil)
	}
	l.parts = append(l.parts, text)
}

func (l *listing) text(key string, data any) string { return l.in.Texts.Text(l.r.Lang, key, data) }

// addWaiting lists the open questions that need a decision, and their chats.
func (l *listing) addWaiting(ctx context.Context, near []inbox.LiveTask) error {
	var lines []string
	for _, t := range near {
		for _, a := range planner.Todo(t.State) {
			if a.Kind != planner.KindAsk || !tasks.Decides(a.ID) && !l.canShow(t) {
				continue
			}
			line, err := l.waitingLine(ctx, t, a)
			if err != nil {
				return err
			}
			lines = append(lines, line)
		}
	}
	l.add("approvals.waiting", lines, "")
	return nil
}

func (l *listing) waitingLine(ctx context.Context, t inbox.LiveTask, a planner.Action) (string, error) {
	ask := tasks.AskOf(a.ID)
	e, err := l.in.Store.Event(ctx, t.Task, ask.Seq)
	if err != nil {
		return "", fmt.Errorf("reading question: %w", err)
	}
	goal, err := l.goal(ctx, t)
	if err != nil {
		return "", err
	}
	data := map[string]any{"Goal": goal, "Tool": cards.Wanted(l.in.Texts, l.r.Lang, a.ID, e)}
	if l.canShow(t) && len(l.buttons) < maxListed {
		code := taskGrantCode(t.Task, ask.Seq)
		data["Code"] = code
		l.buttons = append(l.buttons, bot.Button{Label: l.text("button.show", map[string]any{"Code": code}), Data: inbox.CardData(t.Task, ask)})
	}
	if until := cards.ExpiryOf(t.State, ask.Seq, e.Question); !until.IsZero() {
		data["Date"] = cards.InZone(until, l.zone)
	}
	switch {
	case t.State.Slot(cards.PrivateSlot+a.ID.String()).Message != "":
		data["Chat"] = l.text("approvals.private", nil)
	case t.Chat.Key() != l.r.Message.Chat.Key():
		data["Chat"] = cards.InCode(t.Chat.Key())
	}
	return l.text("approvals.waits", data), nil
}

// canShow reports whether the listing offers to show the questions of a task. An
// admin in a private chat can open the questions of programs' tasks, which may
// have no chat.
func (l *listing) canShow(t inbox.LiveTask) bool {
	return t.Chat.Platform == tasks.PlatformAPI && l.r.Admin && l.r.Message.Chat.Private
}

func (l *listing) goal(ctx context.Context, t inbox.LiveTask) (string, error) {
	o, err := tasks.OpeningOf(ctx, l.in.Store, t.Task)
	if err != nil {
		return "", fmt.Errorf("reading task %s: %w", t.Task, err)
	}
	return cards.PlainText(cards.Title(o.Goal)), nil
}

// addGrants lists the grants, with a button for each to revoke it.
func (l *listing) addGrants(ctx context.Context, near []inbox.LiveTask) error {
	grants, err := tasks.ChatGrants(ctx, l.in.Store, l.r.Message.Chat, l.in.Now())
	if err != nil {
		return err
	}
	admins, err := l.in.Admins(ctx)
	if err != nil {
		return err
	}
	grants = slices.DeleteFunc(grants, func(g tasks.ChatGrant) bool { return !slices.Contains(admins, g.By) })
	var lines []string
	for _, t := range near {
		own, err := l.taskGrants(ctx, t, grants)
		if err != nil {
			return err
		}
		lines = append(lines, own...)
	}
	for _, g := range grants {
		lines = append(lines, l.text("approvals.chat", map[string]any{
			"Code": g.ID, "Tool": cards.InCode(g.Tool), "Name": cards.PlainText(cards.NameOf(g.Name, g.By)), "Date": cards.InZone(g.At, l.zone),
			"Until": cards.InZone(g.Expires, l.zone),
		}))
		l.addRevokeButton(g.ID)
	}
	l.add("approvals.granted", lines, "approvals.revoke")
	return nil
}

// taskGrants lists the grants of one task, by decision.
func (l *listing) taskGrants(ctx context.Context, t inbox.LiveTask, everywhere []tasks.ChatGrant) ([]string, error) {
	var lines []string
	seen := 0
	for _, g := range t.State.Granted {
		if g.Seq == seen || slices.ContainsFunc(everywhere, func(c tasks.ChatGrant) bool { return c.Grant == g.Grant }) {
			continue
		}
		seen = g.Seq
		e, err := l.in.Store.Event(ctx, t.Task, g.Seq)
		if err != nil {
			return nil, fmt.Errorf("reading decision: %w", err)
		}
		goal, err := l.goal(ctx, t)
		if err != nil {
			return nil, err
		}
		name := g.By
		if e.Decision != nil {
			name = cards.NameOf(e.Decision.Name, g.By)
		}
		code := taskGrantCode(t.Task, g.Seq)
		lines = append(lines, l.text("approvals.task", map[string]any{
			"Code": code, "Tool": grantedTools(t.State, g.Seq), "Goal": goal, "Name": cards.PlainText(name), "Date": cards.InZone(e.At, l.zone),
		}))
		if l.r.Steers(t) {
			l.addRevokeButton(code)
		}
	}
	return lines, nil
}

// grantedTools lists the tools that a decision granted for its task.
func grantedTools(s planner.State, seq int) string {
	var names []string
	for _, g := range s.Granted {
		if g.Seq == seq {
			names = append(names, cards.InCode(g.Tool))
		}
	}
	return strings.Join(names, ", ")
}

func (l *listing) addRevokeButton(code string) {
	if len(l.buttons) < maxListed {
		l.buttons = append(l.buttons, bot.Button{Label: l.text("button.revoke", map[string]any{"Code": code}), Data: pressRevoke + code})
	}
}

// addChanges lists the tools that are quarantined.
func (l *listing) addChanges(ctx context.Context) {
	if l.in.Tools == nil {
		return
	}
	var lines []string
	for _, c := range l.in.Tools.Changes(ctx) {
		lines = append(lines, l.text("approvals.change", map[string]any{"Code": c.ID, "Tool": cards.InCode(c.Tool)}))
		if data := map[string]any{"Code": c.ID}; len(lines) <= maxListed/2 && len(pressShow+c.ID) <= inbox.MaxPressData {
			l.buttons = append(l.buttons,
				bot.Button{Label: l.text("button.show", data), Data: pressShow + c.ID},
				bot.Button{Label: l.text("button.accept_code", data), Data: pressAccept + c.ID})
		}
	}
	l.add("approvals.changed", lines, "approvals.accept")
}
