package telegramfake

import (
	"slices"
	"strings"
)

// checkNesting notes what the documents forbid and the service lets pass.
func (p *htmlParser) checkNesting(o open) {
	for i, outer := range p.stack {
		switch {
		case outer.tag == "blockquote" && o.tag == "blockquote":
			p.blame("a blockquote in a blockquote")
		case outer.tag == "pre" && o.tag == "code" && i == len(p.stack)-1 && outer.at == o.at:
		case outer.tag == "pre" || outer.tag == "code":
			p.blame("the tag %q inside %q", o.tag, outer.tag)
		case outer.tag == "a" && o.tag == "a":
			p.blame("a link in a link")
		}
	}
	if o.tag == "code" && o.value != "" && (len(p.stack) == 0 || p.stack[len(p.stack)-1].tag != "pre") {
		p.blame("a language for code outside pre")
	}
	if o.tag == "a" && o.value == "" {
		p.blame("a link without href")
	}
}

// add makes the entity of a tag that has ended.
func (p *htmlParser) add(o open) {
	e := Entity{Type: kinds(o.tag), Offset: o.at, Length: p.units - o.at}
	switch o.tag {
	case "a":
		e.URL = o.value
	case "code":
		e.Language, _ = strings.CutPrefix(o.value, "language-")
	case "blockquote":
		if slices.Contains(o.attributes, "expandable") {
			e.Type = "expandable_blockquote"
		}
	case "pre":
		if n := len(p.entities) - 1; n >= 0 && p.entities[n].Type == "code" && p.entities[n].Offset == e.Offset && p.entities[n].Length == e.Length {
			e.Language = p.entities[n].Language
			p.entities = p.entities[:n]
		}
	}
	if o.tag == "code" && (len(p.stack) == 0 || p.stack[len(p.stack)-1].tag != "pre") {
		e.Language = ""
	}
	p.entities = append(p.entities, e)
}
