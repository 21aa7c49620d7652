package presenter

import (
	"maps"
	"sync/atomic"
	"time"

	"legwork/bot"
)

// Frame is the state of a chat as a Presenter has last drawn it. The next Presenter
// of the task starts from it and need not draw the same again.
type Frame struct {
	board         bot.Board
	drawn         time.Time
	streamStarted bool
	closed        map[string]bool
}

// Closed reports whether the message of a question shows how the question ended.
func (f *Frame) Closed(slot string) bool { return f.closed[slot] }

// Restore gives a new Presenter the last frame of the one before it.
func (p *Presenter) Restore(f Frame) {
	p.board, p.drawn, p.streamStarted = f.board, f.drawn, f.streamStarted
	maps.Copy(p.closed, f.closed)
}

// LastFrame returns the last frame. It waits until nothing is being drawn.
func (p *Presenter) LastFrame() Frame {
	p.drawing <- struct{}{}
	defer p.endDrawing()
	return Frame{p.board, p.drawn, p.streamStarted, maps.Clone(p.closed)}
}

// redraws numbers the requests for frames, so that others learn when the newest one
// was drawn.
type redraws struct {
	signal                 chan struct{} // holds one signal: a frame is requested
	frames                 chan struct{} // receives a value when a frame was drawn or failed
	requested, tried, done atomic.Uint64 // numbers of the newest request, the last one tried, and the last one drawn
}

// Frames receives a value when a frame was drawn or failed.
func (r *redraws) Frames() <-chan struct{} { return r.frames }

// Drawn reports whether the chat shows the newest snapshot, and whether drawing it
// was tried.
func (r *redraws) Drawn() (shown, tried bool) {
	asked := r.requested.Load()
	return r.done.Load() >= asked, r.tried.Load() >= asked
}

// noteDrawn records the result of drawing a requested frame.
func (r *redraws) noteDrawn(request uint64, shown bool) {
	news := r.tried.Swap(request) < request
	if shown {
		news = r.done.Swap(request) < request || news
	}
	if news {
		select {
		case r.frames <- struct{}{}:
		default:
		}
	}
}

// Redraw requests a frame of the newest snapshot, because something else that the
// frame shows has changed.
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
