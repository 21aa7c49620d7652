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

// Data of the buttons about changed tools. The change's id follows.
const (
	pressAccept = "t:a:"
	pressLeave  = "t:l:"
	pressShow   = "t:s:"
)

// settingChanges is the setting with the changes of tools that were reported to
// the admins. It keeps the newest maxReported.
const (
	settingChanges = "changes"
	maxReported    = 500
	changeTime     = 30 * time.Second // for accepting one
)

// reportedChange is a change of a tool that was reported to the admins.
type reportedChange struct {
	ID       string    `json:"id"`
	Tool     string    `json:"tool"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"` // key of the admin who accepted it
	Name     string    `json:"name,omitempty"`
	Accepted time.Time `json:"accepted,omitzero"`
}

// ToolChanged notifies all admins, once for each change, that a tool is
// quarantined because its server changed it, and asks whether to accept the
// change. It returns at once; Flush waits for the sending.
func ToolChanged(ctx context.Context, in *inbox.Inbox, c tools.Change) {
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		in.ToolChangesMu.Lock()
		defer in.ToolChangesMu.Unlock()
		var told []reportedChange
		if err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told); err != nil {
			in.Log.ErrorContext(ctx, "reported tool changes not read", "cause", err)
			return
		}
		if slices.ContainsFunc(told, func(t reportedChange) bool { return t.ID == c.ID }) {
			return
		}
		in.Log.WarnContext(ctx, "tool quarantined, definition changed", "tool", c.Tool, "change", c.ID)
		reached, _ := in.PostToAdmins(ctx, func(to inbox.PrivateChat) (bot.Draft, string) { return changeDraft(in, to, c) })
		if reached == 0 {
			return // /approvals shows it
		}
		told = append(told, reportedChange{ID: c.ID, Tool: c.Tool, At: in.Now()})
		if err := in.Settings.Write(ctx, tasks.OwnerLegwork, settingChanges, told[max(0, len(told)-maxReported):]); err != nil {
			in.Log.ErrorContext(ctx, "reported tool change not stored", "cause", err)
		}
	})
}

// changeDraft asks an admin about a change. On platforms whose messages disappear
// it has no buttons; its text names the commands to use.
func changeDraft(in *inbox.Inbox, to inbox.PrivateChat, c tools.Change) (d bot.Draft, brief string) {
	how := in.SpellOn(to.Platform, to.Chat, in.Texts.Text(to.Lang, "change.how", map[string]any{"Code": c.ID}))
	d = bot.Draft{Kind: bot.KindQuestion, File: changeFile(c)}
	d.Text, brief = changeTexts(in, c, to.Lang, how)
	d.Buttons = changeButtons(in, c, to.Lang)
	if to.Platform.Limits().Ephemeral {
		d.Kind, d.Buttons = bot.KindNotice, nil
	}
	return d, brief
}

// changeTexts describes a change. full contains the difference; brief goes with a
// file that contains it, and is empty without such a file. how names the possible
// decisions.
func changeTexts(in *inbox.Inbox, c tools.Change, lang, how string) (full, brief string) {
	server, tool, _ := strings.Cut(c.Tool, ".")
	intro := in.Texts.Text(lang, "change.told", map[string]any{"Server": cards.InCode(server), "Tool": cards.InCode(tool), "Text": changedParts(in, c, lang)})
	if c.New {
		intro = in.Texts.Text(lang, "change.new", map[string]any{"Server": cards.InCode(server), "Tool": cards.InCode(tool)})
	}
	full = intro + "\n\n" + bot.Fence(bot.Visible(c.Difference), "diff") + "\n" + how
	if f := changeFile(c); f != nil {
		brief = intro + "\n\n" + in.Texts.Text(lang, "change.file", map[string]any{"Path": f.Name}) + "\n\n" + how
	}
	return full, brief
}

// changedParts says which parts of a tool its server changed.
func changedParts(in *inbox.Inbox, c tools.Change, lang string) string {
	known := map[string]string{"title": "change.title", "description": "change.description", "annotations": "change.annotations", "inputSchema": "change.arguments", "outputSchema": "change.results"}
	var names []string
	for _, part := range strings.Split(c.Parts, ", ") {
		if key := known[part]; key != "" {
			names = append(names, in.Texts.Text(lang, key, nil))
		}
	}
	if len(names) == 0 {
		return in.Texts.Text(lang, "change.definition", nil)
	}
	return strings.Join(names, ", ")
}

// changeFile is a file with a long difference. It is nil for a short one.
func changeFile(c tools.Change) *bot.File {
	content := bot.Visible(c.Difference)
	if len(content) <= cards.MaxShownArguments || len(content) > bot.MaxFile {
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

// decideChangeBy is decideChange for the press of a button.
func decideChangeBy(verb string) func(context.Context, *inbox.Inbox, *inbox.Request, string) (inbox.Reply, error) {
	return func(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id string) (inbox.Reply, error) {
		return decideChange(ctx, in, r, verb, id)
	}
}

// decideChange shows, accepts or leaves a changed tool, as an admin wants.
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
		return in.ReplyLater(r, func(ctx context.Context) inbox.Notice { return acceptedNotice(ctx, in, r, id) }), nil
	case verb == pressAccept && in.Shared && r.Ephemeral:
		return in.ReplyText(r, "change.elsewhere", map[string]any{"Tool": cards.InCode("legwork tools accept " + c.Tool)}), nil
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

// acceptChange accepts the new definition of a tool, which ends its quarantine.
func acceptChange(ctx context.Context, in *inbox.Inbox, r *inbox.Request, c tools.Change) inbox.Notice {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	by := r.Message.From
	accepted, err := in.Tools.Accept(ctx, c.ID)
	if err != nil {
		in.Log.ErrorContext(ctx, "tool change not accepted", "tool", c.Tool, "change", c.ID, "cause", err)
		return in.Notice(r, "change.failed", map[string]any{"Tool": cards.InCode(c.Tool), "Reason": cards.InCode(clip.Marked(err.Error(), 200))})
	}
	in.Log.InfoContext(ctx, "tool change accepted", "tool", accepted.Tool, "change", c.ID, "by", by.Key())
	in.Audit(ctx, r, "tool.accept", accepted.Tool, "change "+c.ID)
	storeAccepted(ctx, in, reportedChange{ID: c.ID, Tool: c.Tool, At: in.Now(), By: by.Key(), Name: by.Name, Accepted: in.Now()})
	s := in.Notice(r, "change.accepted", map[string]any{"Tool": cards.InCode(c.Tool), "Name": cards.PlainText(cards.NameOf(by.Name, by.Key()))})
	s.Replace.Pressed = true
	return s
}

// storeAccepted stores who accepted a change and when.
func storeAccepted(ctx context.Context, in *inbox.Inbox, done reportedChange) {
	in.ToolChangesMu.Lock()
	defer in.ToolChangesMu.Unlock()
	var told []reportedChange
	err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told)
	if err == nil {
		if i := slices.IndexFunc(told, func(t reportedChange) bool { return t.ID == done.ID }); i >= 0 {
			done.At = told[i].At
			told = slices.Delete(told, i, i+1)
		}
		told = append(told, done)
		err = in.Settings.Write(ctx, tasks.OwnerLegwork, settingChanges, told[max(0, len(told)-maxReported):])
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "accepted tool change not stored", "cause", err)
	}
}

// acceptedNotice tells an admin who decides too late that the change was accepted, and
// by whom.
func acceptedNotice(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id string) inbox.Notice {
	var told []reportedChange
	if err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingChanges, &told); err != nil {
		in.Log.ErrorContext(ctx, "reported tool changes not read", "cause", err)
	}
	i := slices.IndexFunc(told, func(t reportedChange) bool { return strings.EqualFold(t.ID, id) && !t.Accepted.IsZero() })
	if i < 0 {
		return in.Notice(r, "error.no_grant", nil)
	}
	s := in.Notice(r, "change.accepted", map[string]any{"Tool": cards.InCode(told[i].Tool), "Name": cards.PlainText(cards.NameOf(told[i].Name, told[i].By))})
	s.Replace.Pressed = true
	return s
}
