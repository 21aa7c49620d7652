package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Limits of a Telegram message (core.telegram.org/bots/api#sendmessage). Units are
// counted after the markup is parsed. Telegram ignores entities beyond 100, and
// cuts requests that are far longer than the text may be.
const (
	partUnits    = 4096
	partEntities = 100
	partBytes    = 30_000
)

// piece is a part of a text in one format.
type piece struct {
	text   string
	look   look
	code   int // number of the code block that it is in, 0 for none
	quote  quoteKind
	end    ending
	format format // set by the splitter
}

// ending says how well a part can end before a piece.
type ending uint8

const (
	inText     ending = iota // look inside the text
	endNowhere               // a marker, or the break after a heading
	endLine
	endParagraph
)

// splitter cuts a stream of pieces into parts.
type splitter struct {
	*flow
	rest []piece
	used []int // units of a part before each of its pieces
}

// parts cuts everything; no part is blank.
func (s *splitter) parts() [][]piece {
	var all [][]piece
	for {
		s.skip()
		if len(s.rest) == 0 {
			return all
		}
		if part := trimEnd(s.next()); !s.blank(part) {
			all = append(all, part)
		}
	}
}

// skip drops the line breaks and spaces that a part would start with.
func (s *splitter) skip() {
	for len(s.rest) > 0 {
		p := &s.rest[0]
		switch {
		case p.code > 0 && p.end == inText:
			return
		case s.plainPiece(*p) == "" && p.text == "":
		case p.end < endLine && strings.TrimSpace(s.plainPiece(*p)) != "":
			if p.end == inText {
				p.text = strings.TrimLeft(p.text, " \n")
			}
			return
		}
		s.rest = s.rest[1:]
	}
}

// trimEnd drops the line breaks and spaces at the end of a part.
func trimEnd(part []piece) []piece {
	for len(part) > 0 {
		last := &part[len(part)-1]
		if last.code > 0 && last.end == inText {
			return part
		}
		if last.text = strings.TrimRight(last.text, " \n"); last.text != "" {
			return part
		}
		if last.look>>markShift != 0 {
			return part // it holds plain text
		}
		part = part[:len(part)-1]
	}
	return part
}

// next removes the next part from the rest.
func (s *splitter) next() []piece {
	n, room := s.fit()
	if n == len(s.rest) {
		part := s.rest
		s.rest = nil
		return part
	}
	n, offset := s.choosePlace(n, room)
	part := slices.Clone(s.rest[:n])
	if offset > 0 {
		head := s.rest[n]
		head.text = head.text[:offset]
		part = append(part, head)
		s.rest[n].text = s.rest[n].text[offset:]
	}
	s.rest = s.rest[n:]
	return part
}

// fit returns how many pieces fit into one part, and how many units of the next
// piece. It sets their formats.
func (s *splitter) fit() (n, room int) {
	var open format
	used, entities, bytes, loose := 0, 0, 0, false
	s.used = s.used[:0]
	for i := range s.rest {
		p := &s.rest[i]
		s.used = append(s.used, used)
		p.format = open
		if m := s.links.of(p.look); m != nil && m.isNote && loose {
			p.text, loose = m.plain, false // no link or block shows it
		}
		cost := s.cost(*p)
		if p.text != "" {
			p.format = s.formatOf(*p)
			same := open.common(p.format)
			if entities+p.format.entities(same) > partEntities {
				if used > partUnits/4 {
					return i, 0
				}
				p.format = p.format.within(same)
				loose = loose || s.links.of(p.look) != nil
			}
			entities += p.format.entities(same)
			bytes += s.tagBytes(p.format, same) + escapedBytes(p.text)
			open = p.format
		}
		if used+cost > partUnits {
			return i, partUnits - used - (cost - units(p.text))
		}
		if bytes > partBytes && i > 0 {
			return i, 0
		}
		used += cost
	}
	return len(s.rest), 0
}

// escapedBytes is the length of text in HTML.
func escapedBytes(text string) int {
	n := len(text)
	for i := range len(text) {
		switch text[i] {
		case '&', '<', '>':
			n += len("&amp;") - 1
		}
	}
	return n
}

// cost is the size of a piece, with or without markup.
func (s *splitter) cost(p piece) int {
	n := units(p.text)
	if m := s.links.of(p.look); m != nil && m.isNote {
		n = max(n, units(m.plain))
	}
	if p.look&strike != 0 {
		n += 4
	}
	return n
}

// choosePlace chooses where a part ends that could hold n pieces and room units of
// the next: after a paragraph, a line or a sentence if at least half of them
// stay, otherwise after a word, otherwise between two characters.
func (s *splitter) choosePlace(n, room int) (pieces, offset int) {
	last := s.rest[n]
	fitting := 0
	if !s.whole(last) {
		fitting = prefixUnits(last.text, room)
	}
	full := s.used[n] + max(room, 0) // less than partUnits where entities or bytes are the limit
	best := candidates{{least: full / 2}, {least: full / 2}, {least: full / 2}, {least: full / 8}}
	for i := n; i >= 0 && !best[byParagraph].found; i-- {
		p := s.rest[i]
		switch {
		case p.end == endParagraph:
			best.offer(byParagraph, i, 0, s.used[i])
		case p.end == endLine:
			best.offer(byLine, i, 0, s.used[i])
		case p.end == inText && !s.whole(p):
			text := p.text
			if i == n {
				text = text[:fitting]
			}
			best.offerText(i, text, s.used[i])
		}
	}
	for _, b := range best {
		if b.found && b.piece+b.offset > 0 {
			return b.piece, b.offset
		}
	}
	if offset = clusterEnd(last.text, fitting); n+offset == 0 {
		return 1, 0
	}
	return n, offset
}

// whole reports whether a piece must not be cut.
func (s *splitter) whole(p piece) bool {
	m := s.links.of(p.look)
	return m != nil && m.isNote
}

// candidates are the last places of each rank where a part may end.
type candidates [4]struct {
	least         int // units that the part has at least
	found         bool
	piece, offset int
}

// Ranks of places, the best first.
const (
	byParagraph = iota
	byLine
	bySentence
	byWord
)

// offer considers a place with so many units before it.
func (c *candidates) offer(rank, piece, offset, used int) {
	for r := rank; r < len(c); r++ {
		if !c[r].found && used >= c[r].least {
			c[r].found, c[r].piece, c[r].offset = true, piece, offset
		}
	}
}

// offerText considers the places inside a text with so many units before it.
func (c *candidates) offerText(piece int, text string, used int) {
	if n := afterWord(text); n > 0 {
		c.offer(byWord, piece, n, used+units(text[:n]))
		if n := afterSentence(text[:n]); n > 0 {
			c.offer(bySentence, piece, n, used+units(text[:n]))
		}
	}
}

// blank reports whether a part shows nothing; Telegram refuses such messages.
func (s *splitter) blank(part []piece) bool {
	for _, p := range part {
		if !blank(p.text) {
			return false
		}
	}
	return true
}

// afterWord is where the word after the last space of text starts; 0 for none.
func afterWord(text string) int {
	n := strings.LastIndexByte(text, ' ') + 1
	if wide := strings.LastIndexAny(text, "。！？，；、"); wide >= n {
		n = wide + len("。")
	}
	return n
}

// afterSentence is where the last sentence of text starts; 0 for none.
func afterSentence(text string) int {
	for i := len(text); i > 0; {
		c, size := utf8.DecodeLastRuneInString(text[:i])
		switch c {
		case '。', '！', '？':
			return i
		case '.', '!', '?', '…':
			before, _ := utf8.DecodeLastRuneInString(text[:i-size])
			if i < len(text) && text[i] == ' ' && !unicode.IsDigit(before) {
				return i + 1
			}
		}
		i -= size
	}
	return 0
}

// units is the length of text in UTF-16 units.
func units(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0xf0:
			n += 2
		case c < 0x80 || c >= 0xc0:
			n++
		}
	}
	return n
}

// prefixUnits is the length in bytes of the longest start of text that has at
// most room units.
func prefixUnits(text string, room int) int {
	n := 0
	for i, c := range text {
		if n++; c > 0xffff {
			n++
		}
		if n > room {
			return i
		}
	}
	return len(text)
}

// clusterEnd is the last place up to n that is between two characters as
// people see them, or n when there is none near.
func clusterEnd(text string, n int) int {
	const near = 256
	from := max(0, n-near)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for from > 0 { // flags are pairs of characters
		c, size := utf8.DecodeLastRuneInString(text[:from])
		if c < 0x1f1e6 || c > 0x1f1ff {
			break
		}
		from -= size
	}
	to := min(len(text), n+near)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	best, pos := n, from
	g := displaywidth.StringGraphemes(text[from:to])
	for g.Next() && pos+len(g.Value()) <= n {
		pos += len(g.Value())
		best = pos
	}
	if best == from {
		return n
	}
	return best
}

// blank reports whether a text shows nothing.
func blank(text string) bool {
	for _, c := range text {
		if !unicode.IsSpace(c) && !unicode.Is(unicode.C, c) && !unicode.Is(unicode.Mn, c) {
			return false
		}
	}
	return true
}
