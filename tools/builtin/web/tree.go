package web

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds on the tree of a page: parts that are deeper or larger keep their
// text and lose their structure. Markdown repeats the marks of lists and
// quotes on every line, and tables fill up their short rows.
const (
	maxDepth  = 60
	maxLists  = 8
	maxQuotes = 5
	maxCells  = 20_000 // of one table, empty ones included
)

// treeCleaner makes a parsed page fit to be turned into Markdown.
type treeCleaner struct {
	base  *url.URL // links are relative to it
	text  int      // bytes of text in the page
	title string
}

// nesting is what a node is in.
type nesting struct{ depth, lists, quotes int }

func (t *treeCleaner) clean(n *html.Node, in nesting) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.TextNode:
			t.text += len(c.Data)
		case html.ElementNode:
			if in.depth >= maxDepth && c.FirstChild != nil {
				next = flatten(c)
				break
			}
			t.element(c, in)
		case html.CommentNode, html.DoctypeNode:
			n.RemoveChild(c)
		}
		c = next
	}
}

// element tidies one element and what is in it.
func (t *treeCleaner) element(c *html.Node, in nesting) {
	if name, ok := strings.CutPrefix(c.Data, ownPrefix); ok {
		rename(c, name)
	}
	if _, hidden := attribute(c, "hidden"); hidden || c.Data == "button" {
		c.Parent.RemoveChild(c)
		return
	}
	in.depth++
	switch c.Data {
	case "title":
		if t.title == "" {
			t.title = textOf(c)
		}
	case "a":
		t.link(c, "href")
	case "img":
		t.image(c)
	case "ul", "ol":
		if in.lists++; in.lists > maxLists {
			rename(c, "div")
		}
	case "li":
		if in.lists > maxLists {
			rename(c, "div")
		}
	case "blockquote":
		if in.quotes++; in.quotes > maxQuotes {
			rename(c, "div")
		}
	case "table":
		if rows, columns := tableSize(c); rows*columns > maxCells {
			tableToLines(c)
		}
	}
	t.clean(c, in)
}

// link makes an address absolute; one that is no address of a page goes.
func (t *treeCleaner) link(n *html.Node, key string) bool {
	value, _ := attribute(n, key)
	u, err := t.base.Parse(strings.TrimSpace(value))
	if value == "" || err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
		removeAttribute(n, key)
		return false
	}
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = u.String()
		}
	}
	return true
}

// image keeps pictures that say what they show.
func (t *treeCleaner) image(n *html.Node) {
	alt, _ := attribute(n, "alt")
	if strings.TrimSpace(alt) == "" {
		n.Parent.RemoveChild(n)
		return
	}
	if !t.link(n, "src") {
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: alt}, n)
		n.Parent.RemoveChild(n)
	}
}

// flatten puts the text, pictures and line breaks of an element in its place
// and returns the first of them.
func flatten(n *html.Node) *html.Node {
	first := &html.Node{Type: html.TextNode, Data: " "}
	n.Parent.InsertBefore(first, n)
	var leaves []*html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if _, hidden := attribute(n, "hidden"); hidden || n.Data == "button" {
			return
		}
		if n.Type == html.TextNode || n.Data == "img" || n.Data == "br" {
			leaves = append(leaves, n)
		} else if isBlock(n.Data) {
			leaves = append(leaves, &html.Node{Type: html.ElementNode, Data: "br", DataAtom: atom.Br})
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(n)
	for _, leaf := range leaves {
		if leaf.Parent != nil {
			leaf.Parent.RemoveChild(leaf)
		}
		n.Parent.InsertBefore(leaf, n)
	}
	n.Parent.RemoveChild(n)
	return first
}

// tableSize counts the rows of a table and the columns of its widest row. Tables
// inside it count as parts of it.
func tableSize(table *html.Node) (rows, columns int) {
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		rows++
		width := 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode {
				across, _ := attribute(c, "colspan")
				down, _ := attribute(c, "rowspan")
				width += 1 + number(across)
				rows += number(down)
			}
		}
		columns = max(columns, width)
	}
	return rows, columns
}

// tableToLines turns a table into lines.
func tableToLines(table *html.Node) {
	rename(table, "div")
	for n := range table.Descendants() {
		switch n.Data {
		case "tr", "thead", "tbody", "tfoot", "caption", "table":
			rename(n, "div")
		case "td", "th":
			rename(n, "span")
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		}
	}
}

// number is a small number in decimal, otherwise 0.
func number(s string) int {
	n := 0
	for _, digit := range strings.TrimSpace(s) {
		if digit < '0' || digit > '9' || n > maxSpans {
			return 0
		}
		n = n*10 + int(digit-'0')
	}
	return n
}

func rename(n *html.Node, name string) {
	if n.Type == html.ElementNode {
		n.Data, n.DataAtom = name, atom.Lookup([]byte(name))
	}
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func removeAttribute(n *html.Node, key string) {
	for i, a := range n.Attr {
		if a.Key == key {
			n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			return
		}
	}
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}
