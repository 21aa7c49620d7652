package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/files"
	"legwork/files/read"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// looking shows an action the files that it may read.
type looking struct {
	x *Executor
	v *tasks.View
	a planner.Action
}

// all copies what calls of read_attachment show into the event of a reply: the files may
// be deleted before the next prompt.
func (k looking) all(ctx context.Context, e planner.Event) error {
	if e.Reply == nil {
		return nil
	}
	for i := range e.Reply.Calls {
		c := &e.Reply.Calls[i]
		if c.Look == nil {
			continue
		}
		refusal, err := k.at(ctx, c.Look)
		if err != nil {
			return err
		}
		if refusal != "" {
			c.Look, c.Refusal = nil, refusal
		}
	}
	return nil
}

// at fills in what a call shows, or returns why it shows nothing.
func (k looking) at(ctx context.Context, l *planner.Look) (refusal string, err error) {
	r, err := k.named(ctx, l.File)
	if err != nil {
		return "", err
	}
	if r == nil {
		return fmt.Sprintf("there is no file %q to be read here", clip.Marked(l.File, 40)), nil
	}
	parts, err := k.chosen(ctx, r, l)
	if errors.Is(err, files.ErrNone) {
		return fmt.Sprintf("the file %s is no longer kept", l.File), nil
	}
	if unreadable := read.Error(""); errors.As(err, &unreadable) {
		return fmt.Sprintf("%s of %s cannot be read: %v", clip.Marked(l.Parts, 100), l.File, unreadable), nil
	}
	if err != nil {
		return "", err
	}
	text := textOf(parts)
	part, from := planner.Portion(text, l.Offset)
	if part == "" && r.Text == "" && len(r.Pictures) > 0 {
		return fmt.Sprintf("%s has no text: it is pictures, which you see where the file stands, unless you cannot look at pictures", l.File), nil
	}
	if part == "" {
		return fmt.Sprintf("nothing in %s fits; it has %d parts and %d bytes of text", l.File, max(r.Total, 1), max(r.TextBytes, int64(len(r.Text)))), nil
	}
	l.Text, l.Offset, l.Bytes = part, from, len(text)
	return "", nil
}

// chosen returns the parts of a file that a call wants. Of an archive it may be a member.
func (k looking) chosen(ctx context.Context, r *planner.ReadFile, l *planner.Look) (list []read.Part, err error) {
	which := newChoice(l.Parts, l.Find)
	number := 0
	add := func(p read.Part) {
		if number++; which.has(number, p) {
			list = append(list, p)
		}
	}
	switch {
	case r.Type == "application/zip" && l.Parts != "" && !which.ranged:
		var parts []read.Part
		parts, err = k.x.contents.member(ctx, r.ID, l.Parts)
		which.name = ""
		for _, p := range parts {
			add(p)
		}
	case r.Whole != "":
		err = k.x.contents.parts(ctx, r.Whole, add)
	default: // the parts of a small file are kept as one text, so each call gets all of it
		which = newChoice("", l.Find)
		add(read.Part{Text: r.Text})
	}
	return list, err
}

// named is the file that the model of the action may read under a name; nil when there is
// none.
func (k looking) named(ctx context.Context, name string) (*planner.ReadFile, error) {
	v := k.v
	if !planner.GivenFile(v.State, k.a, v.Event, name) {
		return nil, nil
	}
	if strings.Contains(name, "/") {
		return k.x.files.find(ctx, v, name)
	}
	i := planner.FileIndex(name)
	if i < 0 || i >= len(v.State.Files) || v.State.Files[i].Gone {
		return nil, nil
	}
	return v.Event(v.State.Files[i].Read).Read, nil
}

// choice says which parts of a document a call wants: those of a range, or with a name,
// that hold all words. Without a range and a name it wants all parts; no words fit all.
type choice struct {
	first, last int // numbers from 1
	ranged      bool
	name        string // in lower case
	words       []string
}

func newChoice(which, find string) choice {
	c := choice{words: strings.Fields(strings.ToLower(find))}
	if c.first, c.last, c.ranged = numbers(which); !c.ranged {
		c.name = strings.ToLower(strings.TrimSpace(which))
	}
	return c
}

// has reports whether the part with that number is wanted.
func (c choice) has(number int, p read.Part) bool {
	if c.ranged && (number < c.first || number > c.last) || !strings.Contains(strings.ToLower(p.Name), c.name) {
		return false
	}
	text := strings.ToLower(p.Text)
	return !slices.ContainsFunc(c.words, func(w string) bool { return !strings.Contains(text, w) })
}

// numbers reads "3" or "3-7".
func numbers(text string) (first, last int, ok bool) {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	first, err := strconv.Atoi(strings.TrimSpace(from))
	last, err2 := strconv.Atoi(strings.TrimSpace(to))
	return first, last, err == nil && err2 == nil
}
