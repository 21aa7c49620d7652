package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// What the buttons about changed tools carry; the change's id follows.
const (
	pressAccept = "t:a:"
	pressLeave  = "t:l:"
	pressShow   = "t:s:"
)

// settingChanges is the list of the changes of tools that were reported to the
// admins.
const (
	settingChanges = "changes"
	keptChanges    = 500
	changeTime     = 30 * time.Second // for accepting one
)

// toldChange is a change of a tool that was reported to the admins.
type toldChange struct {
	ID       string    `json:"id"`
	Tool     string    `json:"tool"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"` // key of the admin who accepted it
	Name     string    `json:"name,omitempty"`
	Accepted time.Time `json:"accepted,omitzero"`
}

// ToolChanged tells all admins, once for each change, that a tool is quarantined
// because its server changed it, and asks whether it is to be used as it is now.
// It does not wait for that; see Flush.
func ToolChanged(ctx context.Context, in *inbox.Inbox, c tools.Change) {
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		in.ToolChangesLock.Lock()
		defer in.ToolChangesLock.Unlock()
		var told []toldChange
		if err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told); err != nil {
			in.Log.ErrorContext(ctx, "reading the reported tool changes failed", "cause", err)
			return
		}
		if slices.ContainsFunc(told, func(t toldChange) bool { return t.ID == c.ID }) {
			return
		}
		in.Log.WarnContext(ctx, "tool quarantined: its definition changed", "tool", c.Tool, "change", c.ID)
		reached, _ := in.PostToAdmins(ctx, func(to inbox.PrivateChat) (bot.Draft, string) { return changeDraft(in, to, c) })
		if reached == 0 {
			return // /approvals shows it
		}
		told = append(told, toldChange{ID: c.ID, Tool: c.Tool, At: in.Now()})
		if err := in.Settings.Write(ctx, tasks.OwnerLegwork, settingChanges, told[max(0, len(told)-keptChanges):]); err != nil {
			in.Log.ErrorContext(ctx, "storing reported tool change failed", "cause", err)
		}
	})
}

// changeDraft asks an admin about a change. Where questions do not last, it says
// what to write instead.
func changeDraft(in *inbox.Inbox, to inbox.PrivateChat, c tools.Change) (d bot.Draft, brief string) {
	how := in.Spelled(to.Platform, to.Chat, in.Texts.Text(to.Lang, "change.how", map[string]any{"Code": c.ID}))
	d = bot.Draft{Kind: bot.KindQuestion, File: changeFile(c)}
	d.Text, brief = changeTexts(in, c, to.Lang, how)
	d.Buttons = changeButtons(in, c, to.Lang)
	if to.Platform.Limits().Ephemeral {
		d.Kind, d.Buttons = bot.KindNotice, nil
	}
	return d, brief
}

// changeTexts describe a change: with the difference, and for beside its file.
// how says what to do about it.
func changeTexts(in *inbox.Inbox, c tools.Change, lang, how string) (full, brief string) {
	server, tool, _ := strings.Cut(c.Tool, ".")
	intro := in.Texts.Text(lang, "change.told", map[string]any{"Server": cards.InCode(server), "Tool": cards.InCode(tool)})
	full = intro + "\n\n" + bot.Fence(bot.Visible(c.Difference), "diff") + "\n" + how
	if f := changeFile(c); f != nil {
		brief = intro + "\n\n" + in.Texts.Text(lang, "change.file", map[string]any{"Path": f.Name}) + "\n\n" + how
	}
	return full, brief
}

// changeFile holds a long difference; nil for a short one.
func changeFile(c tools.Change) *bot.File {
	content := bot.Visible(c.Difference)
	if len(content) <= cards.ShownArguments || len(content) > bot.MaxFile {
		return nil
	}
	return &bot.File{Name: "change-" + c.ID + ".diff", Type: "text/plain", Content: []byte(content)}
}

func changeButtons(in *inbox.Inbox, c tools.Change, lang string) []bot.Button {
	if len(pressAccept+c.ID) > inbox.MaxPressData {
		return nil
	}
	accept := in.Button(lang, "button.accept", pressAccept+c.ID)
	accept.Style = bot.StylePrimary
	return []bot.Button{accept, in.Button(lang, "button.leave", pressLeave+c.ID)}
}

// decideChangeBy is change for one of the buttons.
func decideChangeBy(verb string) func(context.Context, *inbox.Inbox, *inbox.Request, string) (inbox.Reply, error) {
	return func(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id string) (inbox.Reply, error) {
		return decideChange(ctx, in, r, verb, id)
	}
}

// decideChange does what an admin wants about a changed tool.
func decideChange(ctx context.Context, in *inbox.Inbox, r *inbox.Request, verb, id string) (inbox.Reply, error) {
	if !r.Admin {
		return in.Refuse(r, "error.admin_needed"), nil
	}
	var c tools.Change
	if in.Tools != nil {
		list := in.Tools.Changes(ctx)
		if i := slices.IndexFunc(list, func(c tools.Change) bool { return strings.EqualFold(c.ID, id) }); i >= 0 {
			c = list[i]
		}
	}
	switch {
	case c.ID == "":
		return in.ReplyLater(r, func(ctx context.Context) inbox.Notice { return changeOver(ctx, in, r, id) }), nil
	case verb == pressAccept:
		return in.ReplyLater(r, func(ctx context.Context) inbox.Notice { return acceptChange(ctx, in, r, c) }), nil
	case verb == pressLeave:
		s := in.Notice(r, "change.left", map[string]any{"Tool": cards.InCode(c.Tool)})
		s.Replace.Pressed = true
		return in.Reply(r, s), nil
	default:
		full, brief := changeTexts(in, c, r.Lang, in.Texts.Text(r.Lang, "change.how", map[string]any{"Code": c.ID}))
		d := bot.Draft{Kind: bot.KindQuestion, Text: full, File: changeFile(c), Buttons: changeButtons(in, c, r.Lang)}
		return in.Reply(r, inbox.Notice{Draft: d, Brief: brief, Audience: inbox.ToChat}), nil
	}
}

// acceptChange lets a tool be used as it is now.
func acceptChange(ctx context.Context, in *inbox.Inbox, r *inbox.Request, c tools.Change) inbox.Notice {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	by := r.Message.From
	accepted, err := in.Tools.Accept(ctx, c.ID)
	if err != nil {
		in.Log.ErrorContext(ctx, "accepting tool change failed", "tool", c.Tool, "change", c.ID, "cause", err)
		return in.Notice(r, "change.failed", map[string]any{"Tool": cards.InCode(c.Tool), "Reason": cards.InCode(clip.Marked(err.Error(), 200))})
	}
	in.Log.InfoContext(ctx, "tool change accepted", "tool", accepted.Tool, "change", c.ID, "by", by.Key())
	in.Audit(ctx, r, "tool.accept", accepted.Tool, "change "+c.ID)
	noteAccepted(ctx, in, toldChange{ID: c.ID, Tool: c.Tool, At: in.Now(), By: by.Key(), Name: by.Name, Accepted: in.Now()})
	s := in.Notice(r, "change.accepted", map[string]any{"Tool": cards.InCode(c.Tool), "Name": cards.PlainText(cards.NameOf(by.Name, by.Key()))})
	s.Replace.Pressed = true
	return s
}

// noteAccepted keeps who accepted a change and when.
func noteAccepted(ctx context.Context, in *inbox.Inbox, done toldChange) {
	in.ToolChangesLock.Lock()
	defer in.ToolChangesLock.Unlock()
	var told []toldChange
	err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told)
	if err == nil {
		if i := slices.IndexFunc(told, func(t toldChange) bool { return t.ID == done.ID }); i >= 0 {
			done.At = told[i].At
			told = slices.Delete(told, i, i+1)
		}
		told = append(told, done)
		err = in.Settings.Write(ctx, tasks.OwnerLegwork, settingChanges, told[max(0, len(told)-keptChanges):])
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "storing who accepted a tool change failed", "cause", err)
	}
}

// changeOver tells an admin who comes too late what became of a change.
func changeOver(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id string) inbox.Notice {
	var told []toldChange
	if err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told); err != nil {
		in.Log.ErrorContext(ctx, "showing outcome of tool change failed", "cause", err)
	}
	i := slices.IndexFunc(told, func(t toldChange) bool { return strings.EqualFold(t.ID, id) && !t.Accepted.IsZero() })
	if i < 0 {
		return in.Notice(r, "error.no_grant", nil)
	}
	s := in.Notice(r, "change.accepted", map[string]any{"Tool": cards.InCode(told[i].Tool), "Name": cards.PlainText(cards.NameOf(told[i].Name, told[i].By))})
	s.Replace.Pressed = true
	return s
}
