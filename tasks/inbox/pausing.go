package inbox

import (
	"context"

	"legwork/tasks"
	"legwork/tasks/cards"
)

// pauseCommand pauses everything. The command is /pause.
func pauseCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	if !r.Admin {
		return in.refuse(r, "error.admin_needed"), nil
	}
	from := r.Message.From
	_, was := in.Pause.State()
	by, on, err := in.Pause.SetBy(ctx, r.Message.Key, tasks.Paused{By: from.Key(), Name: cards.NameOf(from.Name, from.Key()), At: in.Now()})
	if err != nil {
		return Reply{}, err
	}
	if !on { // delivered again, and undone since
		return in.replyText(r, "error.not_paused", nil), nil
	}
	if was {
		return sayPaused(ctx, in, r, "error.paused_already", by)
	}
	in.Log.WarnContext(ctx, "all work paused", "by", by.By)
	in.audit(ctx, r, "pause", "", "")
	return sayPaused(ctx, in, r, "notice.paused", by)
}

// resumeCommand lets everything go on. The command is /resume.
func resumeCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	if !r.Admin {
		return in.refuse(r, "error.admin_needed"), nil
	}
	_, was, err := in.Pause.LiftBy(ctx, r.Message.Key)
	if err != nil {
		return Reply{}, err
	}
	if by, on := in.Pause.State(); !was && on { // delivered again, and everything was paused anew
		return sayPaused(ctx, in, r, "error.paused_already", by)
	}
	if !was {
		return in.replyText(r, "error.not_paused", nil), nil
	}
	in.Log.WarnContext(ctx, "all work resumed", "by", r.Message.From.Key())
	in.audit(ctx, r, "resume", "", "")
	return in.replyText(r, "notice.resumed", nil), nil
}

func sayPaused(ctx context.Context, in *Inbox, r *Request, key string, by tasks.Paused) (Reply, error) {
	data, err := pausedData(ctx, in, r, by)
	if err == nil {
		return in.replyText(r, key, data), nil
	}
	return Reply{}, err
}

// pausedLine tells in /status that everything is paused; empty otherwise.
func pausedLine(ctx context.Context, in *Inbox, r *Request) (string, error) {
	by, on := in.Pause.State()
	if !on {
		return "", nil
	}
	data, err := pausedData(ctx, in, r, by)
	return in.Texts.Text(r.Lang, "statusline.paused", data), err
}
