package cards

import (
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/files"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// FileNames names files for people, as in "report.pdf, photo × 3".
func FileNames(texts *i18n.Texts, lang string, list []bot.Attachment) string {
	var names []string
	times := map[string]int{}
	for _, a := range list {
		name := texts.Text(lang, kindKey(a.Kind), nil)
		if a.Name != "" {
			name = bot.BaseName(a.Name)
		}
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := times[name]; n > 1 {
			names[i] += " × " + strconv.Itoa(n)
		}
	}
	return strings.Join(names, ", ")
}

// kindKey is the key of the word for a file without a name.
func kindKey(kind bot.AttachmentKind) string {
	switch kind {
	case bot.AttachPhoto, bot.AttachVoice, bot.AttachVideo, bot.AttachAudio:
		return "unread." + string(kind)
	}
	return "unread.file"
}

// goalText asks what to do with files that came without words.
func (c Card) goalText() string {
	lang := c.View.Opening().Language
	var list []bot.Attachment
	for _, f := range c.View.State.Files {
		if all := planner.Attachments(c.View.Event(f.Source)); !f.Gone && !f.Empty && f.Index < len(all) {
			list = append(list, all[f.Index])
		}
	}
	ask := c.Texts.Text(lang, "question.goal", map[string]any{"Names": PlainText(FileNames(c.Texts, lang, list)), "Count": len(list)})
	return strings.Join(append(unreadFiles(c.View, c.Texts), ask), "\n\n")
}

// GoalChoices are what legwork suggests to do with files, by what is in them.
func GoalChoices(texts *i18n.Texts, lang string, list []*planner.ReadFile) []string {
	all := func(kinds ...string) bool {
		return !slices.ContainsFunc(list, func(r *planner.ReadFile) bool {
			return !slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(r.Type, kind) })
		})
	}
	keys := []string{"goal_summarize", "goal_points", "goal_mistakes"}
	switch {
	case all("image/"):
		keys = []string{"goal_describe", "goal_read"}
	case all("audio/", "video/", "application/ogg"):
		keys = []string{"goal_write", "goal_summarize"}
	case all("sheet", "csv", "tab-separated"):
		keys = []string{"goal_summarize", "goal_figures", "goal_mistakes"}
	}
	for i, key := range keys {
		keys[i] = texts.Text(lang, "button."+key, nil)
	}
	return keys
}

// readFiles are the files of a task of which something could be read.
func readFiles(v *tasks.View) (list []*planner.ReadFile) {
	for _, f := range v.State.Files {
		if r := v.Event(f.Read).Read; r != nil && !f.Gone && !f.Empty {
			list = append(list, r)
		}
	}
	return list
}

// unreadFiles are the sentences about files that were not read, or not all of them.
func unreadFiles(v *tasks.View, texts *i18n.Texts) (list []string) {
	for _, f := range v.State.Files {
		if r := v.Event(f.Read).Read; r != nil && !f.Gone && r.Problem != "" {
			text := texts.Text(v.Opening().Language, "file."+r.Problem, map[string]any{"Name": PlainText(r.Name), "Max": files.Size(r.Limit)})
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// maxHeard is how much of a voice message the answer to it repeats, in characters.
const maxHeard = 300

// heard are the words of voice messages, so that people see what was understood.
func heard(v *tasks.View, texts *i18n.Texts) (lines []string) {
	for _, f := range v.State.Files {
		if r := v.Event(f.Read).Read; r != nil && !f.Gone && r.Spoken {
			lines = append(lines, "> "+texts.Text(v.Opening().Language, "answer.heard", map[string]any{"Text": PlainText(clip.Line(r.Text, maxHeard))}))
		}
	}
	return lines
}
