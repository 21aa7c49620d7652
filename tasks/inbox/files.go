package inbox

import (
	"context"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/files"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks/cards"
)

// maxFiles is how many files one message may bring along, with those of the messages that
// it quotes.
const maxFiles = 20

// FilesGoal names the files of a message, and of the messages that it points at: it is
// the question of a message that is nothing but files. It is empty when there are none.
func FilesGoal(in *Inbox, r *Request) string {
	return cards.FileNames(in.Texts, r.Lang, filesOf(r.Message))
}

// fileKinds names the files of a message by their kinds alone. It is guidance without
// words: what people write counts as theirs, and the name of a file need not be.
func fileKinds(in *Inbox, r *Request) string {
	list := filesOf(r.Message)
	for i := range list {
		list[i].Name = ""
	}
	return cards.FileNames(in.Texts, r.Lang, list)
}

// isVoice reports whether a message is nothing but the author's own voice.
func isVoice(m bot.Message) bool {
	other := func(a bot.Attachment) bool { return a.Kind != bot.AttachVoice || a.Others }
	return m.Text == "" && len(m.Files) > 0 && !slices.ContainsFunc(m.Files, other)
}

// filesOf are the files of a message, and of the messages that it points at.
func filesOf(m bot.Message) []bot.Attachment {
	list := slices.Clone(m.Files)
	for _, q := range m.Earlier {
		if q.Pointed {
			list = append(list, q.Files...)
		}
	}
	return list
}

// filesHandler refuses a message whose files are too many, or too large together. A
// single file that is too large is found when it is fetched, since platforms do not
// always know the size.
func filesHandler(_ context.Context, in *Inbox, r *Request) (Outcome, error) {
	limit := r.Rules.Files.Message
	var total int64
	for _, a := range r.Message.Files {
		total += a.Bytes
	}
	switch {
	case len(r.Message.Files) > maxFiles:
		return took(in.ReplyText(r, "error.files_many", map[string]any{"Count": len(r.Message.Files), "Max": maxFiles}), nil)
	case len(r.Message.Files) > 1 && limit > 0 && total > limit:
		return took(in.ReplyText(r, "error.files_large", map[string]any{"Text": files.Size(total), "Max": files.Size(limit)}), nil)
	}
	return Outcome{}, nil
}

// withFewFiles leaves out files of quoted messages that are too many: the oldest ones. The
// quotations name them.
func withFewFiles(texts *i18n.Texts, lang string, m bot.Message) bot.Message {
	room := maxFiles - len(m.Files)
	m.Earlier = slices.Clone(m.Earlier)
	for i := range slices.Backward(m.Earlier) {
		q := &m.Earlier[i]
		if room -= len(q.Files); room < 0 && len(q.Files) > 0 {
			q.Media, q.Files = cards.FileNames(texts, lang, q.Files), nil
		}
	}
	return m
}

// goalChoices are the suggestions under the question what to do with files.
func goalChoices(ctx context.Context, in *Inbox, t LiveTask) ([]string, error) {
	o, err := openingOf(ctx, in, t.Task)
	if o == nil || err != nil {
		return nil, err
	}
	var list []*planner.ReadFile
	for _, f := range t.State.Files {
		if f.Read == 0 || f.Gone || f.Empty {
			continue
		}
		e, err := in.Store.Event(ctx, t.Task, f.Read)
		if err != nil {
			return nil, fmt.Errorf("reading question: %w", err)
		}
		list = append(list, e.Read)
	}
	return cards.GoalChoices(in.Texts, o.Language, list), nil
}
