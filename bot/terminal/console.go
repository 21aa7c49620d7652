package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"legwork/bot"
)

// Durations of the interactive mode.
const (
	frameGap        = 50 * time.Millisecond // least time between two frames
	quitGap         = 2 * time.Second       // a second Ctrl-C within it leaves
	escapeGap       = 50 * time.Millisecond // an ESC that nothing follows for so long is a key
	hintFor         = 4 * time.Second
	handOverTimeout = 3 * time.Second // for messages that were sent just before leaving
	outboxSize      = 64
)

// Switches of the terminal while Run runs: pastes are marked.
const (
	startUp  = "\x1b[?2004h"
	shutDown = "\x1b[?2004l\x1b[?25h"
)

// console is the interactive mode: a prompt with the live tasks above it.
type console struct {
	t      *Terminal
	color  bool
	dirty  chan struct{}    // signals that there is something to draw
	outbox chan bot.Message // messages to hand on, in order

	mu        sync.Mutex // guards the fields below and the screen
	screen    screen
	edit      editor
	history   *history
	searching *historySearch // the search through the history; nil: none
	live      []*task        // in order of appearance
	over      map[string]bool
	waiting   map[string]bool     // ids of messages that are not stored yet
	replied   map[string]question // by the id of the message that answered them
	shown     shownDrafts
	menu      menu    // of the latest notice
	files     pending // of the next question
	answering string  // id of the question that the text in the prompt answers, as of the last key
	lastAsked string
	hint      string
	hintEnds  time.Time
	pressed   time.Time // when Ctrl-C was pressed last
	left      bool
	quit      chan struct{} // closed when the person leaves
}

func newConsole(t *Terminal) *console {
	return &console{
		files: t.cfg.Files,
		t:     t, color: Color(t.cfg.Out), dirty: make(chan struct{}, 1), outbox: make(chan bot.Message, outboxSize),
		over: map[string]bool{}, waiting: map[string]bool{}, replied: map[string]question{}, shown: shownDrafts{}, history: &history{}, quit: make(chan struct{}),
	}
}

func (c *console) run(ctx context.Context, handle handler) (err error) {
	in, ok := c.t.cfg.In.(*os.File)
	out, ok2 := c.t.cfg.Out.(*os.File)
	if !ok || !ok2 {
		return errors.New("the interactive mode needs a terminal on both ends")
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("preparing terminal: %w", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(in.Fd()), before)) }()
	width, height := size(out)
	c.screen = screen{out: out, width: width, height: height}
	h, err := openHistory(c.t.cfg.History)
	c.history = h
	if err != nil {
		c.setHint(err.Error())
	}
	if _, err := out.WriteString(startUp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	return c.work(ctx, in, out, handle)
}

// size is the size of the screen in columns and rows.
func size(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width < 2 || height < 2 {
		return 80, 24
	}
	return width, height
}

// work runs the parts of the console until the person leaves or ctx ends.
func (c *console) work(ctx context.Context, in, out *os.File, handle handler) error {
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return fmt.Errorf("reading terminal: %w", err)
	}
	sending, cancel := context.WithCancel(ctx)
	pieces := make(chan []byte)
	ended := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() { c.send(sending, handle) })
	ahead := typedAhead(int(in.Fd()))
	parts.Go(func() { readInput(reader, ahead, pieces, ended) })
	defer func() {
		close(ended)
		reader.Cancel()
		close(c.outbox) // messages that were sent are still handed on
		late := time.AfterFunc(handOverTimeout, cancel)
		parts.Wait()
		late.Stop()
		cancel()
		_ = reader.Close() // it owns no file
	}()
	c.mu.Lock()
	if banner := c.painter().markdown(c.t.cfg.Banner); len(banner) > 0 {
		err = c.scroll(banner)
	} else {
		err = c.screen.draw(c.frame())
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.t.open()
	return c.loop(ctx, out, pieces)
}

// readInput hands on typed bytes until the terminal or ended is closed. The first
// ahead bytes were typed before the terminal was in raw mode, which turned their
// returns into newlines.
func readInput(in cancelreader.CancelReader, ahead int, pieces chan<- []byte, ended <-chan struct{}) {
	defer close(pieces)
	for {
		p := make([]byte, 16<<10)
		n, err := in.Read(p)
		for i := range min(n, ahead) {
			if p[i] == '\n' {
				p[i] = '\r'
			}
		}
		ahead -= min(n, ahead)
		if n > 0 {
			select {
			case pieces <- p[:n]:
			case <-ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// send hands messages on, in batches of those that wait, until the outbox is
// closed.
func (c *console) send(ctx context.Context, handle handler) {
	for m := range c.outbox {
		all := []bot.Message{m}
		for more := true; more; {
			select {
			case m, more = <-c.outbox:
				if more {
					all = append(all, m)
				}
			default:
				more = false
			}
		}
		if err := handle(ctx, all); err != nil && ctx.Err() == nil {
			c.refused(all, err)
		} else {
			c.accepted(all)
		}
	}
}

// accepted stops waiting for messages that are stored: a /stop or an addition may
// get no reply of its own.
func (c *console) accepted(all []bot.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		delete(c.waiting, m.ID)
	}
	c.requestDraw()
}

// refused puts a text that could not be handed on back into the prompt.
func (c *console) refused(all []bot.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		delete(c.waiting, m.ID)
		if len(c.edit.text) == 0 {
			c.edit.set(m.Text)
			c.files = append(m.Files, c.files...)
		}
	}
	if !errors.Is(err, bot.ErrNotified) {
		c.setHint(oneLine(err.Error()))
	}
	c.requestDraw()
}

// loop handles keys, frames and changes of the screen's size.
func (c *console) loop(ctx context.Context, out *os.File, pieces <-chan []byte) error {
	resized := make(chan os.Signal, 1)
	stop := notifyResize(resized)
	defer stop()
	if err := c.resize(out); err != nil { // the size may have changed before the signal was set up
		return err
	}
	ticker := time.NewTicker(spinEvery)
	defer ticker.Stop()
	var keys decoder
	var frameAt, escapeAt <-chan time.Time
	var drawn time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.quit:
			return nil
		case p, ok := <-pieces:
			if !ok {
				return nil // the terminal is gone
			}
			c.handleKeys(keys.feed(p))
			escapeAt = nil
			if keys.waiting() {
				escapeAt = time.After(escapeGap)
			}
		case <-escapeAt:
			c.handleKeys(keys.flush())
		case <-resized:
			if err := c.resize(out); err != nil {
				return err
			}
		case <-ticker.C:
			c.tick()
		case <-c.dirty:
			if frameAt == nil {
				frameAt = time.After(frameGap - time.Since(drawn))
			}
		case <-frameAt:
			frameAt, drawn = nil, time.Now()
			if err := c.draw(); err != nil {
				return err
			}
		}
	}
}

// requestDraw asks for a frame.
func (c *console) requestDraw() { notify(c.dirty) }

// tick draws spinners and running times.
func (c *console) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hint != "" && time.Now().After(c.hintEnds) {
		c.hint = ""
		c.requestDraw()
	}
	if c.busy() {
		c.requestDraw()
	}
}

// busy reports whether a task runs or a message waits; mu is held.
func (c *console) busy() bool { return len(c.live) > 0 || len(c.waiting) > 0 }

func (c *console) draw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.draw(c.frame())
}

func (c *console) resize(out *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	width, height := size(out)
	if width == c.screen.width && height == c.screen.height {
		return nil
	}
	old := c.screen
	c.screen.width, c.screen.height = width, height
	f := c.frame()
	c.screen.width, c.screen.height = old.width, old.height
	return c.screen.redraw(width, height, f)
}

// scroll adds lines to the scrollback; mu is held.
func (c *console) scroll(lines []string) error {
	return c.screen.scroll(lines, c.frame())
}

func (c *console) painter() painter {
	p := painter{t: c.t, width: max(c.screen.width-1, 1), color: c.color, now: time.Now(), lastAsked: c.lastAsked}
	if q := c.question(); q != nil {
		p.open = q.id
	}
	return p
}

// setHint shows a sentence below the prompt for a while; mu is held.
func (c *console) setHint(text string) {
	c.hint, c.hintEnds = text, time.Now().Add(hintFor)
}

// end removes the frame, and says which tasks continue at the next start.
func (c *console) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.painter()
	text := c.screen.erase()
	if n := len(c.live); n > 0 {
		if unfinished := c.t.unfinished(n); unfinished != "" {
			text += p.row(piece{unfinished, faint}) + "\r\n"
		}
	}
	_, err := c.screen.out.Write([]byte(text + shutDown))
	return err
}

// frame is the display as it should be now; mu is held.
func (c *console) frame() frame {
	p := c.painter()
	prompt := c.prompt(p)
	height := c.screen.height - 1 - len(prompt.rows)
	if c.hint != "" {
		height--
	}
	if len(c.files) > 0 {
		height--
	}
	f := frame{rows: p.tasks(c.live, max(height-2, 1))}
	if len(c.live) == 0 && len(c.waiting) > 0 {
		f.rows = []string{p.row(piece{spinner(p.now), cyan})}
	}
	if len(f.rows) > 0 && height > 3 {
		f.rows = append(slices.Insert(f.rows, 0, ""), "")
	} else if height > 1 {
		f.rows = append(f.rows, "")
	}
	if len(c.files) > 0 {
		f.rows = append(f.rows, p.row(piece{"  + " + namesOf(c.files), faint}))
	}
	f.row, f.column = len(f.rows)+prompt.row, prompt.column
	f.rows = append(f.rows, prompt.rows...)
	if c.hint != "" {
		f.rows = append(f.rows, p.row(piece{"  " + oneLine(c.hint), faint}))
	}
	return f
}

// prompt is the text that is being written, or the search in the history. A
// long text is shown around the cursor; mu is held.
func (c *console) prompt(p painter) frame {
	if c.searching != nil {
		return c.searching.prompt(p)
	}
	sign := "› "
	if c.answered() != "" && !strings.HasPrefix(c.edit.String(), "/") {
		sign = c.t.text("terminal.answer", nil) + " › "
	}
	margin := bot.TextWidth(sign)
	edit := c.edit
	if c.hidden() {
		edit.text = slices.Repeat([]string{"•"}, len(edit.text))
	}
	rows, row, column := edit.layout(max(p.width-margin-1, 1))
	most := max(1, min(10, c.screen.height/3))
	from := min(max(0, row-most/2), max(0, len(rows)-most))
	f := frame{row: row - from, column: column + margin}
	for i, text := range rows[from:min(len(rows), from+most)] {
		mark := strings.Repeat(" ", margin)
		if from+i == 0 {
			mark = sign
		}
		f.rows = append(f.rows, p.row(piece{mark, cyan})+text)
	}
	return f
}
