package commands

import (
	"context"

	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// pauseCommand pauses all work. The command is /pause.
func pauseCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	if !r.Admin {
		return in.Refuse(r, "error.admin_needed"), nil
	}
	from := r.Message.From
	_, was := in.Pause.State()
	by, on, err := in.Pause.SetBy(ctx, r.Message.Key, tasks.Paused{By: from.Key(), Name: cards.NameOf(from.Name, from.Key()), At: in.Now()})
	if err != nil {
		return inbox.Reply{}, err
	}
	if !on { // a repeated delivery; all work was resumed since
		return in.ReplyText(r, "error.not_paused", nil), nil
	}
	if was {
		return pausedReply(ctx, in, r, "error.paused_already", by)
	}
	in.Log.WarnContext(ctx, "all work paused", "by", by.By)
	in.Audit(ctx, r, "pause", "", "")
	return pausedReply(ctx, in, r, "notice.paused", by)
}

// resumeCommand resumes all work. The command is /resume.
func resumeCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	if !r.Admin {
		return in.Refuse(r, "error.admin_needed"), nil
	}
	_, was, err := in.Pause.ResumeBy(ctx, r.Message.Key)
	if err != nil {
		return inbox.Reply{}, err
	}
	if by, on := in.Pause.State(); !was && on { // a repeated delivery; all work was paused again since
		return pausedReply(ctx, in, r, "error.paused_already", by)
	}
	if !was {
		return in.ReplyText(r, "error.not_paused", nil), nil
	}
	in.Log.WarnContext(ctx, "all work resumed", "by", r.Message.From.Key())
	in.Audit(ctx, r, "resume", "", "")
	return in.ReplyText(r, "notice.resumed", nil), nil
}

func pausedReply(ctx context.Context, in *inbox.Inbox, r *inbox.Request, key string, by tasks.Paused) (inbox.Reply, error) {
	data, err := inbox.PausedData(ctx, in, r, by)
	if err == nil {
		return in.ReplyText(r, key, data), nil
	}
	return inbox.Reply{}, err
}

// pausedLine is the line of /status that says who paused all work. It is empty
// when work is not paused.
func pausedLine(ctx context.Context, in *inbox.Inbox, r *inbox.Request) (string, error) {
	by, on := in.Pause.State()
	if !on {
		return "", nil
	}
	data, err := inbox.PausedData(ctx, in, r, by)
	return in.Texts.Text(r.Lang, "statusline.paused", data), err
}
