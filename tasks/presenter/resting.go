package presenter

import (
	"maps"
	"time"

	"legwork/bot"
)

// Frame is what a Presenter has shown. The one that shows the same task later
// need not show it again.
type Frame struct {
	board  bot.Board
	drawn  time.Time
	opened bool
	closed map[string]bool
}

// Closed reports that the message of a question says how that ended.
func (f *Frame) Closed(slot string) bool { return f.closed[slot] }

// Recall tells a new Presenter what the one before it has shown.
func (p *Presenter) Recall(f Frame) {
	p.board, p.drawn, p.opened = f.board, f.drawn, f.opened
	maps.Copy(p.closed, f.closed)
}

// Seen is what it has shown, when it draws nothing.
func (p *Presenter) Seen() Frame {
	p.pen <- struct{}{}
	defer p.release()
	return Frame{p.board, p.drawn, p.opened, maps.Clone(p.closed)}
}

// Frames rings when a frame was drawn or could not be.
func (p *Presenter) Frames() <-chan struct{} { return p.frames }

// Drawn reports whether the chat shows the newest snapshot, and whether that was
// tried at least.
func (p *Presenter) Drawn() (shown, tried bool) {
	asked := p.asked.Load()
	return p.done.Load() >= asked, p.tried.Load() >= asked
}

// Lasts reports that the task's chat keeps its messages.
func (p *Presenter) Lasts() bool { return p.lasting() }

// drew notes how a frame went.
func (p *Presenter) drew(wish uint64, shown bool) {
	news := p.tried.Swap(wish) < wish
	if shown {
		news = p.done.Swap(wish) < wish || news
	}
	if news {
		select {
		case p.frames <- struct{}{}:
		default:
		}
	}
}
