package redact

import (
	"slices"
	"sort"
	"strings"
)

// cut is a line break that was taken out of a text: where it would stand in what
// is left, and how many bytes are missing from there on, it included.
type cut struct{ at, missing int }

// join is a text without the ends of its lines, also as quotes have them, and what
// a layout puts around them.
func join(text string) (joined string, cuts []cut) {
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "\n\\")
		if i < 0 {
			break
		}
		at += i
		n := lineEnd(text[at:])
		if n == 0 {
			at++
			continue
		}
		b.WriteString(strings.TrimRight(text[done:at], " \t\r"))
		for n > 0 {
			at += n
			at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r"))
			n = lineEnd(text[at:])
		}
		done = at
		cuts = append(cuts, cut{b.Len(), done - b.Len()})
	}
	b.WriteString(text[done:])
	return b.String(), cuts
}

// lineEnd is how long the end of a line is that a text begins with; 0: it begins
// with none.
func lineEnd(text string) int {
	for _, end := range []string{"\n", `\n`, `\r\n`} {
		if strings.HasPrefix(text, end) {
			return len(end)
		}
	}
	return 0
}

// maskBroken replaces the secrets that go over the ends of lines, as base64 does
// that a program has wrapped.
func (s *secrets) maskBroken(text string) string {
	if !strings.Contains(text, "\n") && !strings.Contains(text, `\n`) {
		return text
	}
	joined, cuts := join(text)
	if s.mask.Replace(joined) == joined {
		return text
	}
	before := func(at int) int { // where a byte of joined stands in text
		if i := sort.Search(len(cuts), func(i int) bool { return cuts[i].at > at }); i > 0 {
			return at + cuts[i-1].missing
		}
		return at
	}
	type stretch struct{ from, to int }
	var found []stretch
	for _, form := range s.forms {
		for at := 0; ; {
			i := strings.Index(joined[at:], form)
			if i < 0 {
				break
			}
			at += i + len(form)
			found = append(found, stretch{before(at - len(form)), before(at-1) + 1})
		}
	}
	slices.SortFunc(found, func(a, b stretch) int { return a.from - b.from })
	var b strings.Builder
	done := 0
	for _, f := range found {
		if f.from >= done {
			b.WriteString(text[done:f.from] + Mask)
		}
		done = max(done, f.to)
	}
	return b.String() + text[done:]
}
