package planner

import (
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
)

// Past is the conversation before the task, for a prompt.
type Past struct {
	Summary        string     // of the turns before History; empty for none
	SummaryTainted bool       // it holds words of outsiders, or of other people of the chat
	SummaryPrivate Origins    // where its private data came from
	History        []Exchange // the turns since, oldest first
}

// Exchange is an earlier question of the conversation and its answer, empty
// while there is none.
type Exchange struct {
	Goal, Answer string
	Brought      []bot.Quoted // messages that the question brought along, as material
	Failed       bool         // it ended, though without an answer
	Other        bool         // another person asked: their question is data
	Tainted      bool         // outsiders' words went into it; the answer is data therefore
	Private      Origins      // where private data in it came from
}

// Labels are those of the whole past.
func (p Past) Labels() Labels {
	var l Labels
	if p.Summary != "" {
		l = Labels{Outside: p.SummaryTainted, Private: p.SummaryPrivate}
	}
	for _, h := range p.History {
		l = l.With(Labels{Outside: h.Tainted, Private: h.Private})
	}
	return l
}

// Earlier is the result of a sub-task of an earlier task of the conversation.
type Earlier struct {
	Reference   string // what read_result is given
	Group       string
	Description string // shortened
	Bytes       int
	Labels      Labels // of the result, and so of its description too
}

// Labels are those of all that the prompt holds of earlier tasks.
func (p PromptInput) Labels() Labels {
	l := p.Past.Labels()
	for _, e := range p.Earlier {
		l = l.With(e.Labels)
	}
	for _, f := range p.EarlierFiles {
		if f.Given != nil {
			l = l.With(Labels{Outside: true, Private: Origins{OriginFile}})
		}
	}
	return l
}

// addPast adds the conversation before the task: its summary and the turns since.
func (b *builder) addPast() {
	if past := b.input.Past; past.Summary != "" && past.SummaryTainted {
		b.messages.add(llm.User, b.text("prompt.summary_others", nil)+"\n"+tag("data", past.Summary))
	} else if past.Summary != "" {
		b.messages.add(llm.User, b.text("prompt.summary", nil)+"\n"+tag("summary", past.Summary))
	}
	b.messages.turns = len(b.messages.list)
	for _, h := range b.input.History {
		question := tag("earlier_question", h.Goal)
		if h.Other {
			question = around("earlier_question", tag("data", h.Goal))
		}
		b.addQuoted(h.Brought)
		b.messages.add(llm.User, question)
		if h.Tainted && h.Answer != "" {
			// As a message of the model it would be taken for its own words.
			b.messages.add(llm.User, b.text("prompt.answered_then", nil)+"\n"+tag("data", h.Answer))
			continue
		}
		b.messages.add(llm.Assistant, b.answerOf(h))
	}
	b.messages.turnsEnd = len(b.messages.list)
}

// answerOf is the answer of an exchange, or what became of it.
func (b *builder) answerOf(h Exchange) string {
	switch {
	case h.Answer != "":
		return h.Answer
	case h.Failed:
		return b.text("prompt.failed", nil)
	}
	return b.text("prompt.unfinished", nil)
}

// addEarlier lists results of earlier tasks, introduced by the text of that key.
func (b *builder) addEarlier(key string, list []Earlier) {
	if len(list) == 0 {
		return
	}
	var lines []string
	for _, e := range list {
		lines = append(lines, fmt.Sprintf("%s · %s · %d · %s", e.Reference, e.Group, e.Bytes, e.Description))
	}
	b.namesMore = true
	b.messages.add(llm.User, b.text(key, nil)+"\n"+tag("data", strings.Join(lines, "\n")))
}

// named are the results of earlier tasks that a description names by their reference.
func (b *builder) named(description string) []Earlier {
	description = strings.ToLower(description)
	return slices.DeleteFunc(slices.Clone(b.input.Earlier), func(e Earlier) bool {
		return !strings.Contains(description, strings.ToLower(e.Reference))
	})
}

// Digest is the input of a summary.
type Digest struct {
	Texts    *i18n.Texts
	Language string     // of the person, and of the summary
	Before   string     // the summary so far
	Turns    []Exchange // the turns since, oldest first
	MaxBytes int        // of the prompt; 0 for no limit
}

// SummaryPrompt is the request for a summary that takes the place of the one so
// far and of the turns since. Texts that are too long for it are shortened, the
// longest first.
func SummaryPrompt(d Digest) (llm.Request, error) {
	b := builder{lang: d.Language, input: PromptInput{Texts: d.Texts}}
	system, err := d.Texts.Prompt(d.Language, "summary", i18n.PromptData{})
	if err != nil {
		return llm.Request{}, fmt.Errorf("building prompt of a summary: %w", err)
	}
	b.messages.add(llm.System, ownMarks(system))
	if d.Before != "" {
		b.messages.add(llm.User, b.text("prompt.summary_before", nil)+"\n"+tag("summary", d.Before))
	}
	room := d.MaxBytes - len(system) - len(d.Before) - 1000
	longest := 0
	for _, h := range d.Turns {
		longest = max(longest, len(h.Goal), len(h.Answer))
	}
	for d.MaxBytes > 0 && longest > minSummarised && sizeOf(d.Turns, longest) > room {
		longest = longest * 3 / 4
	}
	turns := make([]string, len(d.Turns))
	for i, h := range d.Turns {
		turns[i] = tag("question", clip.Marked(h.Goal, longest)) + "\n" + tag("answer", clip.Marked(b.answerOf(h), max(longest, minSummarised)))
	}
	b.messages.add(llm.User, b.text("prompt.summary_turns", nil)+"\n"+strings.Join(turns, "\n"))
	b.messages.add(llm.User, b.text("prompt.summary_now", nil))
	return llm.Request{Role: llm.RoleAnswer, Messages: merged(b.messages.plain().list)}, nil
}

// OutlinePrompt is the request to sum a task up in five lines. It begins as the prompt of
// the closing answer, which a is about, so that endpoints find it in their caches.
func OutlinePrompt(s State, journal Journal, a Action, input PromptInput) (llm.Request, error) {
	input.Makes = nil
	if input.MaxBytes > 0 {
		input.MaxBytes = input.MaxBytes / 4 * 3 // the rest is room for the answer
	}
	request, err := Prompt(s, journal, a, input)
	if err != nil {
		return request, err
	}
	b := builder{lang: journal(1).Opening.Language, input: input}
	if s.Answer > 0 {
		answer := AnswerOf(journal(s.Answer))
		if input.MaxBytes > 0 {
			answer = clip.Marked(answer, input.MaxBytes/4)
		}
		request.Messages = append(request.Messages, llm.Message{Role: llm.Assistant, Content: answer})
	}
	request.Messages = merged(append(request.Messages, llm.Message{Role: llm.User, Content: b.text("prompt.outline", nil)}))
	return request, nil
}

// minSummarised is the shortest length to which SummaryPrompt cuts a text, in bytes.
const minSummarised = 200

// sizeOf is how many bytes turns take when no text has more than so many, with
// the marks around them.
func sizeOf(turns []Exchange, longest int) int {
	n := 0
	for _, h := range turns {
		n += min(len(h.Goal), longest) + min(len(h.Answer), longest) + 80
	}
	return n
}
