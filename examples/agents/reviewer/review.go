package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What the agents share. Each key is written by one of them.
const (
	keySources = "sources" // []Source; the reviewer
	keyOutline = "outline" // outline; the reviewer
	keyDraft   = "draft"   // draft; the writer
	keyChecked = "checked" // checked; the reviewer
	keyStatus  = "status"  // legwork knows it: a person's review
)

// Values of the status.
const (
	needsReview      = "NEEDS_HUMAN_REVIEW"
	approved         = "APPROVED"
	changesRequested = "CHANGES_REQUESTED"
	inProgress       = "IN_PROGRESS"
)

// outline is the plan of the text. Each change gives it a new number.
type outline struct {
	Number   int       `json:"number"`
	Sections []section `json:"sections"`
	Request  string    `json:"request,omitempty"` // the changes that it asks for
	Tries    int       `json:"tries"`             // drafts that the reviewer refused since a person read one
}

type section struct {
	Heading string   `json:"heading"`
	Sources []string `json:"sources"`
}

// draft is what the writer made of an outline.
type draft struct {
	Number int    `json:"number"` // of the outline
	Text   string `json:"text"`
}

// checked is the result of checking a draft.
type checked struct {
	Number   int      `json:"number"`
	Problems []string `json:"problems"`
}

// maxTries bounds how often a draft goes back before a person sees it anyway.
const maxTries = 3

// reviewer is the agent.
type reviewer struct {
	*client
	corpus []Source
}

// progress is the decoded shared state.
type progress struct {
	version int
	sources []Source
	outline outline
	draft   draft
	checked checked
	status  string
}

func open(s state) (progress, error) {
	d := progress{version: s.Version}
	return d, errors.Join(s.read(keySources, &d.sources), s.read(keyOutline, &d.outline), s.read(keyDraft, &d.draft),
		s.read(keyChecked, &d.checked), s.read(keyStatus, &d.status))
}

// work does the next step of the shared state until the task is over.
func (r *reviewer) work(ctx context.Context) error {
	version, keys := -1, []string(nil)
	for {
		s, err := r.await(ctx, version, keys...)
		if err != nil {
			return fmt.Errorf("reading the shared state: %w", err)
		}
		if s.Over {
			r.log("the task is over")
			return nil
		}
		d, err := open(s)
		if err != nil {
			return err
		}
		did, err := r.step(ctx, d)
		switch {
		case errors.Is(err, errLost):
			r.log("looking again: %v", err)
		case err != nil:
			return err
		}
		version, keys = s.Version, []string{keyDraft, keyStatus}
		if did {
			keys = nil // this, or somebody who was faster, has changed something: it is read at once
		}
	}
}

// step does the next step; did is false when the writer or a person is next.
func (r *reviewer) step(ctx context.Context, d progress) (did bool, err error) {
	switch {
	case d.outline.Number == 0:
		return true, r.research(ctx, d)
	case d.status == approved:
		r.log("a person has approved draft %d", d.draft.Number)
		return true, r.answer(ctx, d.draft.Text)
	case d.status == changesRequested:
		return true, r.extend(ctx, d)
	case d.draft.Number == d.outline.Number && d.checked.Number < d.draft.Number:
		return true, r.check(ctx, d)
	}
	return false, nil
}

// research finds the sources, makes the outline and hands it to the writer.
func (r *reviewer) research(ctx context.Context, d progress) error {
	goal, err := r.goal(ctx)
	if err != nil {
		return fmt.Errorf("reading the goal: %w", err)
	}
	if err := r.say(ctx, "thought", "plan", "First I look for what is known, then the writer writes it up, then a person should read it."); err != nil {
		return err
	}
	if err := r.say(ctx, "action", "search", map[string]any{"action": "search", "corpus": "papers", "words": words(goal)}); err != nil {
		return err
	}
	found := search(r.corpus, goal, 4)
	if len(found) == 0 {
		r.log("nothing is known about the goal")
		return r.answer(ctx, "The corpus has nothing about this.")
	}
	if err := r.say(ctx, "observation", "found", map[string]any{"text": fmt.Sprintf("%d papers are about it.", len(found)), "sources": ids(found)}); err != nil {
		return err
	}
	d.sources = found
	return r.order(ctx, d, outline{Number: 1}, "Write a draft from the outline; cite each source as [id].")
}

// extend searches for the words of a person who wants changes, and adds the sources.
func (r *reviewer) extend(ctx context.Context, d progress) error {
	remark, err := r.remark(ctx)
	if err != nil {
		return fmt.Errorf("reading the remark: %w", err)
	}
	added := slices.DeleteFunc(search(r.corpus, remark, 3), func(s Source) bool { return slices.Contains(ids(d.sources), s.ID) })
	d.sources = append(slices.Clone(d.sources), added...)
	key := fmt.Sprintf("changes-%d", d.outline.Number)
	if err := r.say(ctx, "observation", key, map[string]any{"text": "A person asks for changes: " + remark, "sources": ids(added)}); err != nil {
		return err
	}
	return r.order(ctx, d, outline{Number: d.outline.Number + 1, Request: remark}, "Write the draft anew: "+remark)
}

// order gives the writer an outline of all sources: as a delegation, and in the keys
// that the writer waits for.
func (r *reviewer) order(ctx context.Context, d progress, o outline, text string) error {
	o.Sections = sections(d.sources)
	r.log("outline %d: %s", o.Number, text)
	if err := r.say(ctx, "delegation", fmt.Sprintf("outline-%d", o.Number), map[string]any{"to": "writer", "text": text, "keys": []string{keySources, keyOutline}}); err != nil {
		return err
	}
	return r.set(ctx, d.version, map[string]any{keySources: d.sources, keyOutline: o, keyStatus: inProgress})
}

func sections(sources []Source) []section {
	var list []section
	for _, s := range sources {
		i := slices.IndexFunc(list, func(x section) bool { return x.Heading == s.Topic })
		if i < 0 {
			list = append(list, section{Heading: s.Topic})
			i = len(list) - 1
		}
		list[i].Sources = append(list[i].Sources, s.ID)
	}
	return list
}

// check reads a draft. A good one goes to a person, others back to the writer.
func (r *reviewer) check(ctx context.Context, d progress) error {
	problems := flaws(d)
	verdict := "The draft is sound; a person should read it before it is published."
	if len(problems) > 0 {
		verdict = "The draft has flaws: " + strings.Join(problems, " ")
	}
	r.log("draft %d: %s", d.draft.Number, verdict)
	if err := r.say(ctx, "observation", fmt.Sprintf("check-%d", d.draft.Number), verdict); err != nil {
		return err
	}
	if len(problems) > 0 && d.outline.Tries < maxTries {
		return r.order(ctx, d, outline{Number: d.outline.Number + 1, Request: strings.Join(problems, " "), Tries: d.outline.Tries + 1}, verdict)
	}
	return r.set(ctx, d.version, map[string]any{keyChecked: checked{d.draft.Number, problems}, keyStatus: needsReview})
}

var citation = regexp.MustCompile(`\[([a-z]+[0-9]{4})\]`)

// flaws are the problems of a draft, as sentences.
func flaws(d progress) []string {
	problems, cited := []string{}, []string(nil)
	for _, match := range citation.FindAllStringSubmatch(d.draft.Text, -1) {
		cited = append(cited, match[1])
	}
	for _, id := range ids(d.sources) {
		if !slices.Contains(cited, id) {
			problems = append(problems, "It does not cite "+id+".")
		}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(cited))) {
		if !slices.Contains(ids(d.sources), id) {
			problems = append(problems, "It cites "+id+", which is none of the sources.")
		}
	}
	for _, s := range d.outline.Sections {
		if !strings.Contains(strings.ToLower(d.draft.Text), "## "+s.Heading) {
			problems = append(problems, "It has no section about "+s.Heading+".")
		}
	}
	return problems
}

func ids(sources []Source) []string {
	list := make([]string, 0, len(sources))
	for _, s := range sources {
		list = append(list, s.ID)
	}
	return list
}
