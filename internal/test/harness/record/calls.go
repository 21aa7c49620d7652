package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Output is what a sub-task with that description reports of its call, when the
// person decides about it as they do.
func Output(tool, text string) string {
	chosen := Choice(text)
	switch {
	case tool == Book:
		return "booked " + text
	case tool == Pay && chosen == LabelDeny:
		return text + " => " + deniedText
	case tool == Pay:
		return "paid " + text
	case (tool == Ask || tool == Inquire) && chosen == LabelDecline:
		return "no one chose a colour for " + text
	case tool == Ask || tool == Inquire:
		return "the colour of " + text + " is " + strings.ToLower(chosen)
	}
	return "value of " + text
}

// ReadCalls adds the tool servers' log of a life. There is no file when none was
// ever started.
func (r *Record) ReadCalls(path string, life int) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading calls: %w", err)
	}
	defer file.Close()
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var line struct {
			Time      time.Time
			Event     string
			Tool      string
			Note      string
			Arguments arguments
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading calls: %w", err)
		}
		a := line.Arguments
		switch {
		case line.Event == "call":
			r.Calls = append(r.Calls, Call{At: line.Time, Life: life, Tool: line.Tool, Text: strings.TrimSpace(a.Key + a.Item + a.Order)})
		case line.Event == ElicitationAsked, line.Event == ElicitationAnswered:
			r.Elicitations = append(r.Elicitations, Elicitation{At: line.Time, Life: life, Event: line.Event, Key: line.Note, Value: a.Content.Colour})
		case line.Event == ElicitationDone && line.Tool == Choose:
			r.Elicitations = append(r.Elicitations, Elicitation{At: line.Time, Life: life, Event: line.Event, Key: a.Key})
		case line.Event == "violation":
			r.Misuse = append(r.Misuse, line.Note)
		}
	}
}

// arguments are those of all tools, with a person's answer to a server.
type arguments struct {
	Key, Item, Order string
	Content          struct{ Colour string }
}

// What happens in a Talk.
const (
	ElicitationAsked    = "asked"
	ElicitationAnswered = "told"
	ElicitationDone     = "done"
)
