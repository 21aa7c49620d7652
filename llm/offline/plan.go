package offline

import (
	"strings"
	"unicode"
)

// part is a piece of a request that can be worked on by itself.
type part struct {
	text, group string
	start       int // offset in the request
	facts       facts
}

// split takes a request apart and gives each part to a group. A piece that
// names only another place, date and so on is the question before it, asked
// again; one that fits no group and asks no question belongs to the piece before.
// split leaves out greetings and plain talk, and takes a note as a whole.
func (r *rules) split(goal string, groups []group) []part {
	if note := r.note.FindStringSubmatch(goal); note != nil {
		if g := r.pick(note[1], facts{}, groups); g != "" {
			return []part{{text: capital(goal), group: g}}
		}
	}
	var parts []part
	pieces := r.pieces(goal)
	for i, span := range pieces {
		text := trim(goal[span[0]:span[1]])
		if i+1 < len(pieces) {
			text = r.ahead(text, goal[span[1]:pieces[i+1][0]], trim(goal[pieces[i+1][0]:pieces[i+1][1]]))
		}
		if text == "" || r.greeting.MatchString(text) {
			continue
		}
		f := r.facts(text)
		p := part{text: text, start: span[0], facts: f, group: r.pick(text, f, groups)}
		if len(parts) == 0 {
			parts = append(parts, p)
			continue
		}
		last := &parts[len(parts)-1]
		again, bare := r.again(*last, text, f)
		switch {
		case bare && !r.span.MatchString(last.text):
			parts = append(parts, part{text: again, start: span[0], facts: r.facts(again), group: last.group})
		case bare || p.group == "" && !r.asks.MatchString(text):
			last.text = trim(goal[last.start:span[1]])
			last.facts = r.facts(last.text)
			if last.group == "" {
				last.group = r.pick(last.text, last.facts, groups)
			}
		default:
			parts = append(parts, p)
		}
	}
	if len(parts) == 1 && parts[0].group == "" && !r.asks.MatchString(parts[0].text) && !strings.ContainsAny(goal, "?？") {
		return nil
	}
	for i := range parts {
		if parts[i].group == "" {
			parts[i].group = alone
		}
		parts[i].text = capital(parts[i].text)
	}
	return parts
}

// longest is how long a request may be, in bytes, to be taken apart.
const longest = 4000

// pieces are the offsets between borders, of which those inside an address or
// a date do not count.
func (r *rules) pieces(goal string) [][2]int {
	var list [][2]int
	if len(goal) > longest {
		return [][2]int{{0, len(goal)}}
	}
	mask := func(s string) string { return strings.Repeat("x", len(s)) }
	masked := r.date.ReplaceAllStringFunc(r.url.ReplaceAllStringFunc(goal, mask), mask)
	from := 0
	for _, b := range r.border.FindAllStringIndex(masked, -1) {
		list, from = append(list, [2]int{from, b[0]}), b[1]
	}
	return append(list, [2]int{from, len(goal)})
}

func trim(s string) string { return strings.Trim(s, " \t\r\n,.;:?!，。；：？！、") }

func capital(s string) string {
	for i, c := range s {
		return string(unicode.ToUpper(c)) + s[i+len(string(c)):]
	}
	return s
}

// ahead makes a question of a bare place before "and" and a question about
// another place: 东京和巴黎现在几点.
func (r *rules) ahead(text, border, next string) string {
	name := r.bare.FindStringSubmatch(text)
	places := r.facts(next).places
	if name == nil || !r.filler.MatchString(trim(strings.ToLower(border))) || trim(border) == "" || len(places) != 1 || places[0] == next {
		return text
	}
	return strings.Replace(next, places[0], name[1], 1)
}

// again repeats the earlier part with the value that a bare piece names.
func (r *rules) again(last part, text string, f facts) (string, bool) {
	for _, pair := range [...][2][]string{
		{last.facts.places, f.places},
		{last.facts.dates, f.dates},
		{last.facts.urls, f.urls},
		{last.facts.paths, f.paths},
		{{last.facts.expression}, {f.expression}},
	} {
		if len(pair[0]) == 0 || len(pair[1]) != 1 || pair[1][0] == "" {
			continue
		}
		rest := strings.Replace(text, pair[1][0], "", 1)
		if !r.filler.MatchString(strings.Join(strings.FieldsFunc(rest, func(c rune) bool { return !unicode.IsLetter(c) }), "")) {
			continue
		}
		old := pair[0][len(pair[0])-1]
		if i := strings.LastIndex(last.text, old); i >= 0 && old != "" {
			return last.text[:i] + pair[1][0] + last.text[i+len(old):], true
		}
	}
	return "", false
}

// pick chooses the group whose name and description share most words with a
// text and with the kinds of things that it names; "" when none does.
func (r *rules) pick(text string, f facts, groups []group) string {
	best, most := "", 0
	for _, g := range groups {
		if n := overlap(r.hints(text, f), vocabulary(r.signs.Replace(g.name)+" "+g.description)); n > most {
			best, most = g.name, n
		}
	}
	return best
}

// hints are the words of a text and words for what it names; these count as
// often as they are listed.
func (r *rules) hints(text string, f facts) []string {
	list := vocabulary(text)
	lower := strings.ToLower(text)
	for hint, signs := range map[string][]string{
		"time":   {"几点", "幾點", "时间", "時間", "час", "врем"},
		"date":   {"what day", "which day", "日期", "дат", "числ"},
		"diff":   {"until", "since"},
		"search": {"搜索", "найди", "поищи"},
		"page":   {"网页", "страниц"},
		"file":   {"文件", "файл"},
		"note":   {"笔记", "筆記", "заметк"},
	} {
		for _, sign := range signs {
			if strings.Contains(lower, sign) {
				list = append(list, hint)
			}
		}
	}
	for kind, there := range map[string]bool{
		"arithmetic calculate math number expression": f.expression != "", "web page url fetch website": len(f.urls) > 0,
		"file folder document": len(f.paths) > 0, "time": len(f.times) > 0 && len(f.places) > 1,
		"date calendar": strings.ContainsAny(strings.Join(f.dates, ""), "0123456789"),
	} {
		if there {
			list = append(append(list, strings.Fields(kind)...), strings.Fields(kind)...)
		}
	}
	return list
}

// vocabulary lists the words of a text that carry meaning, in small letters.
func vocabulary(text string) []string {
	const common = " the and for with that this from into what which how are is was you your can does not its their them about have has had any all one two now today tell show give say know could would please current local right " +
		"который сколько сейчас сегодня скажи "
	var list []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) }) {
		if len(w) > 2 && !strings.Contains(common, " "+w+" ") {
			list = append(list, w)
		}
	}
	return list
}

// overlap counts the words of a list that are also in another one, their
// endings aside.
func overlap(list, in []string) int {
	n := 0
	for _, a := range list {
		for _, b := range in {
			short, long := a, b
			if len(short) > len(long) {
				short, long = long, short
			}
			if a == b || len(short) >= 4 && len(long)-len(short) <= 3 && strings.HasPrefix(long, short) {
				n++
				break
			}
		}
	}
	return n
}
