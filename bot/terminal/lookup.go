package terminal

import "legwork/bot"

// lookup is a search through the history, from the newest entry backwards.
type lookup struct {
	history *history
	query   string
	at      int // where the next search begins
	found   int // the entry that is shown; len(entries) for none
}

// look gives a key to the search and reports whether that was all. Enter takes
// the found entry into the prompt; so does any other key of editing, which then
// does its own work.
func (c *console) look(k key) bool {
	l := c.looking
	switch k.name {
	case keyText:
		l.query += k.text
		l.search(len(l.history.entries))
	case keyBackspace:
		e := editor{}
		e.set(l.query)
		e.apply(k)
		l.query = e.String()
		l.search(len(l.history.entries))
	case keySearch:
		l.search(l.at)
	case keyEscape, keyInterrupt:
		c.looking = nil
	default:
		c.looking = nil
		if l.found < len(l.history.entries) {
			c.edit.set(l.history.entries[l.found])
		}
		return k.name == keyEnter
	}
	return true
}

func (l *lookup) search(from int) {
	if l.query == "" {
		l.at, l.found = len(l.history.entries), len(l.history.entries)
		return
	}
	if i, ok := l.history.search(l.query, from); ok {
		l.at, l.found = i, i
	}
}

// prompt shows the search in place of the prompt.
func (l *lookup) prompt(p painter) frame {
	query := "⌕ " + bot.CutText(oneLine(l.query), p.width/2)
	match := ""
	if l.found < len(l.history.entries) {
		match = "  " + oneLine(l.history.entries[l.found])
	}
	return frame{rows: []string{p.row(piece{query, cyan}, piece{match, faint})}, column: bot.TextWidth(query)}
}
