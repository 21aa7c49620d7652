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
	board         bot.Board
	drawn         time.Time
	streamStarted bool
	closed        map[string]bool
}

// Closed reports that the message of a question says how that ended.
func (f *Frame) Closed(slot string) bool { return f.closed[slot] }

// Restore tells a new Presenter what the one before it has shown.
func (p *Presenter) Restore(f Frame) {
	p.board, p.drawn, p.streamStarted = f.board, f.drawn, f.streamStarted
	maps.Copy(p.closed, f.closed)
}

// LastFrame is what it has shown, when it draws nothing.
func (p *Presenter) LastFrame() Frame {
	p.drawing <- struct{}{}
	defer p.endDrawing()
	return Frame{p.board, p.drawn, p.streamStarted, maps.Clone(p.closed)}
}

// redraws counts the wishes for frames, so that others learn when the newest one was
// drawn.
type redraws struct {
	signal                 chan struct{} // holds one: something is to be drawn
	frames                 chan struct{} // receives a value when a frame was drawn, or failed
	requested, tried, done atomic.Uint64 // which wish came last, was tried last, is fulfilled
}

// Frames rings when a frame was drawn or could not be.
func (r *redraws) Frames() <-chan struct{} { return r.frames }

// Drawn reports whether the chat shows the newest snapshot, and whether that was
// tried at least.
func (r *redraws) Drawn() (shown, tried bool) {
	asked := r.requested.Load()
	return r.done.Load() >= asked, r.tried.Load() >= asked
}

// noteDrawn notes how a frame went.
func (r *redraws) noteDrawn(wish uint64, shown bool) {
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

// Redraw draws the newest snapshot once more: what it is drawn from besides has
// changed.
func (r *redraws) Redraw() {
	r.requested.Add(1)
	r.wake()
}

func (r *redraws) wake() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}
