package terminal

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"legwork/bot"
)

// frame is the display below the scrollback: rows, and where the cursor is.
type frame struct {
	rows        []string
	row, column int
}

// screen draws frames in place, each with one write and only what changed.
// Rows must be narrower than the screen, and frames lower.
type screen struct {
	out           io.Writer
	width, height int
	drawn         frame
}

// Sequences around a frame: synchronized output (DEC mode 2026), with which
// terminals that know it show the whole frame at once, and a hidden cursor.
const (
	frameStart = "\x1b[?2026h\x1b[?25l"
	frameEnd   = "\x1b[?25h\x1b[?2026l"
)

// draw replaces the drawn frame.
func (s *screen) draw(f frame) error {
	var b strings.Builder
	last := len(f.rows) - 1
	at := s.drawn.row // where the cursor is while writing
	move := func(to int) {
		switch {
		case to < at:
			fmt.Fprintf(&b, "\x1b[%dA", at-to)
		case to < len(s.drawn.rows) && to > at:
			fmt.Fprintf(&b, "\x1b[%dB", to-at)
		case to > at: // rows that do not exist yet
			if below := len(s.drawn.rows) - 1 - at; below > 0 {
				fmt.Fprintf(&b, "\x1b[%dB", below)
				at += below
			}
			b.WriteString(strings.Repeat("\r\n", to-at))
		}
		at = to
	}
	changed := false
	for i, row := range f.rows {
		if i < len(s.drawn.rows) && s.drawn.rows[i] == row {
			continue
		}
		changed = true
		move(i)
		b.WriteString("\r" + row + "\x1b[K")
	}
	if len(s.drawn.rows) > len(f.rows) {
		changed = true
		move(last + 1)
		b.WriteString("\r\x1b[J")
	}
	if !changed && s.drawn.row == f.row && s.drawn.column == f.column {
		return nil
	}
	move(f.row)
	b.WriteString("\r" + cursorRight(f.column))
	s.drawn = f
	_, err := io.WriteString(s.out, frameStart+b.String()+frameEnd)
	return err
}

// scroll adds lines to the scrollback, above the frame.
func (s *screen) scroll(lines []string, f frame) error {
	text := s.erase() + strings.Join(lines, "\r\n") + "\r\n" + s.write(f)
	_, err := io.WriteString(s.out, frameStart+text+frameEnd)
	return err
}

// redraw draws the frame anew after the screen got another size. Terminals
// break rows that became too long, so there may be more rows than were written.
func (s *screen) redraw(width, height int, f frame) error {
	above := 0
	for _, row := range s.drawn.rows[:min(s.drawn.row, len(s.drawn.rows))] {
		above += max(1, (rowWidth(row)+width-1)/width)
	}
	s.drawn.row = min(above+s.drawn.column/width, height-1)
	s.width, s.height = width, height
	text := s.erase() + s.write(f)
	_, err := io.WriteString(s.out, frameStart+text+frameEnd)
	return err
}

// erase removes the frame and leaves the cursor where it began. It clears the
// first row separately: when some terminals clear from the top left corner, they
// copy the screen into the scrollback first.
func (s *screen) erase() string {
	up := ""
	if s.drawn.row > 0 {
		up = fmt.Sprintf("\x1b[%dA", s.drawn.row)
	}
	s.drawn = frame{}
	return up + "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8"
}

// write writes a frame where nothing is.
func (s *screen) write(f frame) string {
	s.drawn = f
	text := strings.Join(f.rows, "\r\n")
	if up := len(f.rows) - 1 - f.row; up > 0 {
		text += fmt.Sprintf("\x1b[%dA", up)
	}
	return text + "\r" + cursorRight(f.column)
}

func cursorRight(columns int) string {
	if columns == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dC", columns)
}

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// rowWidth is the number of columns of a row with styles.
func rowWidth(row string) int { return bot.TextWidth(styles.ReplaceAllString(row, "")) }
