package presenter

import (
	"maps"

	"legwork/planner"
	"legwork/tools"
)

// Progress notes how far a call of the task is, for the next frame of its board.
// The newest report counts; none is stored.
func (p *Presenter) Progress(action planner.ActionID, g tools.Progress) {
	p.mu.Lock()
	if p.progress == nil {
		p.progress = map[planner.ActionID]tools.Progress{}
	}
	p.progress[action] = g
	p.mu.Unlock()
	p.nudge()
}

// reports are the newest ones, by action.
func (p *Presenter) reports() map[planner.ActionID]tools.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.progress)
}
