package planner

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"legwork/i18n"
)

// Announcement recognises a reply to the first request for a plan that only announces
// work ("I'll search the web for the release date of Go 1.26"), or that lists agents
// with their tasks. It looks at the form, in any language, and not for phrases:
//
//   - The reply names an agent that the question does not name, and what the question is
//     about comes only after that name. Answers begin with what they are about.
//   - It holds no number, address or code that the question does not hold, and asks nothing.
//   - The name is written as a name (`web`, llm_tool), or else a word of the agent's
//     description stands beside it and hardly any word is new.
//
// In a list every item begins with the name of an agent, and its items hold what the
// question is about or name an agent twice: a list of what the agents can do does not.
// The rows of a table are a list, too.
//
// Some announcements pass. An answer does not look like this.
type Announcement struct {
	goal   []term
	agents map[string][]term // by name in lower case: the words of the description
}

// NewAnnouncement takes the question and the agents of a prompt.
func NewAnnouncement(goal string, agents []i18n.Group) *Announcement {
	a := &Announcement{goal: terms(goal), agents: map[string][]term{LLMTool: nil}}
	for _, g := range agents {
		a.agents[strings.ToLower(g.Name)] = terms(g.Description)
	}
	return a
}

// maxAnnounced is the length of the longest announcement, in bytes.
const maxAnnounced = 600

// Is reports that a reply only announces work.
func (a *Announcement) Is(text string) bool {
	text = strings.ToValidUTF8(VisibleText(text), "?")
	if len(text) > maxAnnounced || strings.ContainsAny(text, "?？؟{") || strings.Contains(text, "```") || strings.Contains(text, "://") {
		return false
	}
	if items, ok := a.items(text); ok {
		return a.tasks(items)
	}
	if strings.Contains(text, "|") {
		return false
	}
	all := terms(text)
	first := slices.IndexFunc(all, a.names)
	return first >= 0 && !slices.ContainsFunc(all[:first], a.topic) && a.announces(all, first)
}

// announces judges the words of a text that is no list; first is the first name of an
// agent.
func (a *Announcement) announces(all []term, first int) bool {
	described, marked := false, false
	proper, added := 0, 0
	for i, t := range all {
		_, agent := a.agents[t.text]
		switch {
		case agent:
			marked = marked || t.marked || strings.ContainsAny(t.text, "_-")
		case t.marked, t.digits && !contains(a.goal, t):
			return false // code or a number of its own
		case contains(a.goal, t):
		case contains(a.agents[all[first].text], t):
			described = true
		case t.capital && i > 0 && !t.begins:
			proper++
		case t.long():
			added++
		}
	}
	return a.echoes(all[first:]) && (marked || described && proper == 0 && added <= 2)
}

// maxPromise is the length of the longest promise, in bytes; maxNewWords is how many long
// words it may have that its task does not have.
const (
	maxPromise  = 300
	maxNewWords = 6
)

// Promises reports that the text of an agent which has called no tool only says what it
// is going to do: "I will now search for the release date of Go 1.26." It is short, tells
// what its task is about, and holds no number, name, address, code or question that the
// task does not hold. A short failure ("The release date of Go 1.26 cannot be found.")
// looks the same.
func Promises(task, text string) bool {
	text = strings.ToValidUTF8(VisibleText(text), "?")
	if len(text) > maxPromise || strings.ContainsAny(text, "?？؟{|") || strings.Contains(text, "```") || strings.Contains(text, "://") {
		return false
	}
	a := NewAnnouncement(task, nil)
	echoes, added := false, 0
	for _, t := range terms(text) {
		switch {
		case contains(a.goal, t):
			echoes = echoes || a.topic(t)
		case t.digits, t.marked, t.capital && !t.begins:
			return false
		case t.long():
			added++
		}
	}
	return echoes && added <= maxNewWords
}

// tasks judges the items of a list.
func (a *Announcement) tasks(items []string) bool {
	var all []term
	seen, twice, other := map[string]bool{}, false, false
	for _, item := range items {
		for _, t := range terms(item) {
			if _, agent := a.agents[t.text]; agent {
				twice = twice || seen[t.text]
				seen[t.text] = true
				other = other || !contains(a.goal, t)
				break
			}
		}
		all = append(all, terms(item)...)
	}
	return twice || other && a.echoes(all)
}

var (
	listMark = regexp.MustCompile(`^(?:[-*•+]|\(?[0-9a-z]{1,2}[.)])\s+`)
	boldLine = regexp.MustCompile(`^\*\*[^*]+\*\*$`)
	keyLine  = regexp.MustCompile(`^\p{L}[\p{L} _]{0,20}: \S`)
	// tableRule is the line below the head of a table.
	tableRule = regexp.MustCompile(`^\|[-:| ]*-[-:| ]*$`)
	markup    = strings.NewReplacer("*", "", "`", "", "\"", "", "[", "", "]", "", "“", "", "”", "")
)

// items are the items of a text that is nothing but a list of which each item begins
// with the name of an agent; a line before it may end in a colon.
func (a *Announcement) items(text string) (items []string, ok bool) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "|") {
			if tableRule.MatchString(line) || i+1 < len(lines) && tableRule.MatchString(lines[i+1]) {
				continue // the head of a table
			}
			line = "- " + strings.ReplaceAll(strings.Trim(line, "| "), "|", ":")
		}
		plain := strings.TrimSpace(line)
		item := listMark.ReplaceAllString(plain, "")
		named := a.heads(markup.Replace(item))
		switch {
		case plain == "":
		case named && (item != plain || line == plain):
			items = append(items, item)
		case item == plain && len(items) > 0 && (line != plain || keyLine.MatchString(plain) || strings.HasPrefix(items[len(items)-1], "#")): // goes on
			items[len(items)-1] += " " + plain
		case len(items) == 0 && (strings.HasSuffix(plain, ":") || strings.HasSuffix(plain, "：") || strings.HasPrefix(plain, "#") || boldLine.MatchString(plain) || keyLine.MatchString(plain)):
		default:
			return nil, false
		}
	}
	return items, len(items) > 0
}

// heads reports that the name of an agent is among the first words of an item, and
// that the item goes on behind a colon, a dash, an arrow or a bracket. "@web …" is such
// an item, too.
func (a *Announcement) heads(item string) bool {
	const words = 4
	for i, t := range terms(item) {
		if i == words {
			break
		}
		if _, agent := a.agents[t.text]; agent {
			rest := strings.TrimLeft(item[t.end:], " )")
			return rest == "" || i == 0 && strings.HasPrefix(item, "@") || strings.HasPrefix(rest, "(") || slices.ContainsFunc([]string{":", "：", "-", "–", "—", "→", "=>"}, func(sign string) bool { return strings.HasPrefix(rest, sign) })
		}
	}
	return false
}

// names reports that a word is the name of an agent that the question does not name.
func (a *Announcement) names(t term) bool {
	_, agent := a.agents[t.text]
	return agent && !contains(a.goal, t)
}

// topic reports that a word tells what the question is about.
func (a *Announcement) topic(t term) bool {
	_, agent := a.agents[t.text]
	return !agent && (t.digits || t.capital || t.long()) && contains(a.goal, t) &&
		!slices.ContainsFunc(a.goal, func(g term) bool { return g.same(t) && g.begins && !g.digits })
}

// echoes reports that words tell what the question is about: with a number of it, with
// three of its words, or with two of which one is a name.
func (a *Announcement) echoes(all []term) bool {
	shared, capital := map[string]bool{}, false
	for _, t := range all {
		if !a.topic(t) {
			continue
		}
		if t.digits {
			return true
		}
		shared[t.stem()] = true
		capital = capital || t.capital
	}
	return len(shared) >= 3 || len(shared) == 2 && capital
}

// term is a word of a text, or two neighbouring characters of a script without spaces.
type term struct {
	text    string // in lower case
	end     int    // offset behind it
	digits  bool
	capital bool // begins with a capital letter, and has more than one letter
	begins  bool // begins a sentence
	marked  bool // stands in quotes, bold or as code
	pair    bool // of a script without spaces
}

// long reports that a word is long enough to mean something.
func (t term) long() bool { return t.pair || utf8.RuneCountInString(t.text) >= 5 }

// stem is the beginning of a word, which its forms have in common.
func (t term) stem() string {
	const letters = 5
	n := 0
	for i := range t.text {
		if n++; n > letters {
			return t.text[:i]
		}
	}
	return t.text
}

func (t term) same(u term) bool {
	if t.digits || u.digits {
		return t.text == u.text
	}
	return t.stem() == u.stem()
}

func contains(list []term, t term) bool { return slices.ContainsFunc(list, t.same) }

// spaceless are scripts whose words have no spaces between them.
var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai}

func inWord(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || c == '_') && !unicode.In(c, spaceless...)
}

// terms are the words of a text, in order. Signs between letters or digits belong to
// a word: 1.26, e-mail, I'll.
func terms(text string) (all []term) {
	begins := true
	runes := []rune(text)
	offset := 0
	for i := 0; i < len(runes); {
		c := runes[i]
		if unicode.In(c, spaceless...) {
			offset += utf8.RuneLen(c)
			if i+1 < len(runes) && unicode.In(runes[i+1], spaceless...) {
				all = append(all, term{text: string(runes[i : i+2]), end: offset, pair: true})
			}
			i++
			continue
		}
		if !inWord(c) {
			begins = begins && !strings.ContainsRune(",;", c) || strings.ContainsRune(".!?:\n。", c)
			offset += utf8.RuneLen(c)
			i++
			continue
		}
		start := i
		for i < len(runes) && (inWord(runes[i]) || i+1 < len(runes) && strings.ContainsRune(".,'’-:", runes[i]) && inWord(runes[i+1])) {
			offset += utf8.RuneLen(runes[i])
			i++
		}
		word := string(runes[start:i])
		all = append(all, term{
			text: strings.ToLower(word), end: offset, digits: strings.ContainsFunc(word, unicode.IsDigit),
			capital: unicode.IsUpper(c) && i-start > 1 && !strings.ContainsAny(word, "'’"), begins: begins,
			marked: start > 0 && strings.ContainsRune("`*\"“„«「_", runes[start-1]),
		})
		begins = false
	}
	return all
}
