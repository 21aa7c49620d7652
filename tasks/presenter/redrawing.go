package presenter

import (
	"maps"
	"sync/atomic"
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

// redrawing counts the wishes for frames, so that others learn when the newest one was
// drawn.
type redrawing struct {
	signal             chan struct{} // holds one: something is to be drawn
	frames             chan struct{} // receives a value when a frame was drawn, or failed
	asked, tried, done atomic.Uint64 // which wish came last, was tried last, is fulfilled
}

// Frames rings when a frame was drawn or could not be.
func (r *redrawing) Frames() <-chan struct{} { return r.frames }

// Drawn reports whether the chat shows the newest snapshot, and whether that was
// tried at least.
func (r *redrawing) Drawn() (shown, tried bool) {
	asked := r.asked.Load()
	return r.done.Load() >= asked, r.tried.Load() >= asked
}

// drew notes how a frame went.
func (r *redrawing) drew(wish uint64, shown bool) {
	news := r.tried.Swap(wish) < wish
	if shown {
		news = r.done.Swap(wish) < wish || news
	}
	if news {
		select {
		case r.frames <- struct{}{}:
		default:
		}
	}
}

// Again draws the newest snapshot once more: what it is drawn from besides has
// changed.
func (r *redrawing) Again() {
	r.asked.Add(1)
	r.nudge()
}

func (r *redrawing) nudge() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}
