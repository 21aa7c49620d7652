package tasks

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
)

// maxProgress is how much of a server's words about its progress fits the board,
// in columns.
const maxProgress = 60

// Progress notes how far a call of the task is, for the next frame of its board.
// The newest report counts; none is stored.
func (p *Presenter) Progress(action planner.ActionID, g Progress) {
	p.mu.Lock()
	if p.progress == nil {
		p.progress = map[planner.ActionID]Progress{}
	}
	p.progress[action] = g
	p.mu.Unlock()
	p.nudge()
}

// reports are the newest ones, by action.
func (p *Presenter) reports() map[planner.ActionID]Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.progress)
}

// under adds to the name of a tool how far its call is.
func (g Progress) under(tool string, texts *i18n.Texts, lang string) string {
	data := map[string]any{"Tool": tool}
	if percent := 100 * g.Done / g.Total; g.Total > 0 && percent >= 0 && !math.IsInf(percent, 0) {
		data["Done"] = strconv.Itoa(int(min(percent, 100)))
	}
	said := strings.Join(strings.Fields(bot.Visible(strings.ToValidUTF8(clip.Bytes(g.Message, 4*maxProgress), ""))), " ")
	if said != "" {
		data["Text"] = bot.CutText(said, maxProgress)
	}
	return texts.Text(lang, "board.progress", data)
}
