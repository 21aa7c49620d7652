package web

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Bounds on a page, so that none takes more than some seconds or some 100 MB
// to turn into Markdown. TestHostilePages has the measurements.
const (
	maxCleaned    = 2 << 20 // bytes; parts that are left out of a page do not count
	maxElements   = 50_000  // later tags are left out; their text stays
	maxAttributes = 16      // of one element
	maxAttribute  = 2 << 10
	maxSpans      = 3000 // columns and rows that all cells of the page may span
)

// ownPrefix marks elements that HTML parsers open again in every paragraph until they
// are closed: some hundred of them multiply the page by as many. Under another
// name they are ordinary elements; treeCleaner restores their names.
const ownPrefix = "x-"

// cleaner copies the tags and attributes of a page that matter for its text.
// It reads token by token and takes memory and time in proportion to the page.
type cleaner struct {
	out           strings.Builder
	elements      int
	spans         int
	limit         int             // of elements
	open          map[string]bool // the own elements that are open
	seen          map[string]bool // html, head, body and title
	skip          string          // the element whose content is left out
	cut           bool            // the page was too long
	base, refresh string          // what <base> and <meta http-equiv=refresh> say
}

// clean returns a page that is safe to parse, and what it says about itself.
func clean(page string, limit int) *cleaner {
	c := &cleaner{limit: limit, open: map[string]bool{}, seen: map[string]bool{}}
	for z := html.NewTokenizer(strings.NewReader(page)); !c.cut; {
		switch z.Next() {
		case html.ErrorToken:
			return c
		case html.TextToken:
			if c.skip == "" {
				c.text(z.Raw())
			}
		case html.StartTagToken:
			name, more := z.TagName()
			c.start(z, string(name), more)
		case html.SelfClosingTagToken:
			if name, more := z.TagName(); string(name) != "svg" { // others do not close themselves
				c.start(z, string(name), more)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			c.end(string(name))
		}
		c.cut = c.cut || c.out.Len() > maxCleaned
	}
	return c
}

// text adds as much of a text as there is room for.
func (c *cleaner) text(raw []byte) {
	if room := maxCleaned - c.out.Len(); len(raw) > room {
		raw, c.cut = raw[:max(0, room)], true
	}
	c.out.Write(raw)
}

func (c *cleaner) start(z *html.Tokenizer, name string, more bool) {
	if c.skip != "" && (c.skip == "template" || !isBlock(name)) {
		return
	}
	c.skip = ""
	if isSkipped(name) {
		c.skip = name
		return
	}
	attributes := c.attributes(z, name, more)
	if !isKept(name) || c.isRepeated(name) {
		return
	}
	if c.elements++; c.elements > c.limit {
		c.breakLine(name)
		return
	}
	if isReopened(name) {
		if c.open[name] {
			c.out.WriteString("</" + ownPrefix + name + ">")
		}
		c.open[name] = true
		name = ownPrefix + name
	}
	c.out.WriteString("<" + name + attributes + ">")
}

func (c *cleaner) end(name string) {
	switch {
	case c.skip != "":
		if name == c.skip || (c.skip != "template" && isBlock(name)) {
			c.skip = ""
		}
	case !isKept(name) || name == "html" || name == "body":
	case c.elements > c.limit:
		c.breakLine(name)
	case isReopened(name):
		if c.open[name] {
			c.out.WriteString("</" + ownPrefix + name + ">")
		}
		c.open[name] = false
	default:
		c.out.WriteString("</" + name + ">")
	}
}

func (c *cleaner) breakLine(name string) {
	if isBlock(name) {
		c.out.WriteByte('\n')
	}
}

// isRepeated reports of elements that a page has once that this is another one.
func (c *cleaner) isRepeated(name string) bool {
	switch name {
	case "html", "head", "body", "title":
		before := c.seen[name]
		c.seen[name] = true
		return before
	}
	return false
}

// attributes reads those of a tag and returns what is kept of them as HTML.
func (c *cleaner) attributes(z *html.Tokenizer, name string, more bool) string {
	var b strings.Builder
	found := map[string]string{}
	for count := 0; more; {
		var key, value []byte
		if key, value, more = z.TagAttr(); !isKeptAttribute(string(key)) || len(value) > maxAttribute || count >= maxAttributes {
			continue
		}
		if _, twice := found[string(key)]; twice {
			continue
		}
		count++
		found[string(key)] = string(value)
		if string(key) == "style" && hidesElement(value) {
			b.WriteString(` hidden=""`)
		}
		if !c.isWritten(string(key), value) {
			continue
		}
		b.WriteString(" " + string(key) + `="` + html.EscapeString(string(value)) + `"`)
	}
	c.noteAddress(name, found)
	if later := found["data-src"]; name == "img" && found["src"] == "" && later != "" {
		b.WriteString(` src="` + html.EscapeString(later) + `"`)
	}
	return b.String()
}

// isWritten leaves out what only note or the caller needs, and spans that would
// make tables larger than the page.
func (c *cleaner) isWritten(key string, value []byte) bool {
	switch key {
	case "style", "data-src", "http-equiv":
		return false
	case "src":
		return len(value) > 0
	case "colspan", "rowspan":
		span := 0
		for _, digit := range bytes.TrimSpace(value) {
			if digit < '0' || digit > '9' || span > maxSpans {
				return false
			}
			span = span*10 + int(digit-'0')
		}
		c.spans += span
		return c.spans <= maxSpans
	}
	return true
}

// noteAddress keeps what a page says about its own address.
func (c *cleaner) noteAddress(name string, found map[string]string) {
	switch {
	case name == "base" && c.base == "":
		c.base = found["href"]
	case name == "meta" && strings.EqualFold(found["http-equiv"], "refresh") && c.refresh == "":
		_, to, ok := strings.Cut(found["content"], "=")
		if ok {
			c.refresh = strings.Trim(to, " \t\"'")
		}
	}
}

// hidesElement tells whether a style makes its element invisible.
func hidesElement(style []byte) bool {
	s := strings.ToLower(strings.Join(strings.Fields(string(style)), ""))
	return strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden")
}

func isSkipped(name string) bool {
	switch name {
	case "script", "style", "template", "svg", "select", "textarea", "noscript", "iframe", "noembed", "noframes", "plaintext", "xmp":
		return true
	}
	return false
}

func isReopened(name string) bool {
	switch name {
	case "a", "b", "strong", "em", "i", "code", "s", "strike", "tt":
		return true
	}
	return false
}

// isBlock reports elements that begin a line.
func isBlock(name string) bool {
	switch name {
	case "html", "body", "article", "section", "main", "aside", "header", "footer", "nav", "div", "p", "h1", "h2", "h3", "h4", "h5", "h6",
		"ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "hr", "br", "table", "tr", "caption", "figure", "figcaption", "address", "details", "summary", "form", "fieldset", "center":
		return true
	}
	return false
}

func isKept(name string) bool {
	switch name {
	case "head", "title", "meta", "thead", "tbody", "tfoot", "td", "th", "img", "button",
		"span", "q", "cite", "abbr", "time", "sub", "sup", "mark", "del", "ins", "kbd", "samp", "var", "dfn":
		return true
	}
	return isBlock(name) || isReopened(name)
}

func isKeptAttribute(key string) bool {
	switch key {
	case "id", "class", "href", "src", "alt", "title", "role", "lang", "dir", "datetime", "itemprop", "itemtype", "rel", "property", "name", "content",
		"start", "hidden", "aria-hidden", "data-src", "colspan", "rowspan", "style", "http-equiv":
		return true
	}
	return false
}
