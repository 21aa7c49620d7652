package web

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// When the main text of a page is believed to be found: it has some length and
// is not a small part of the page, as on a page of links or a forum.
const (
	minArticle  = 250
	minShare    = 10      // percent of the page's text
	maxReadable = 1 << 20 // bytes of text up to which it is looked for
)

// document is a page in words.
type document struct {
	title, author, published string
	text                     string
	note                     string // what a reader should know of the text
}

// readHTML turns a page into Markdown: its main text, or the whole page. at is
// where it was found.
func readHTML(page string, at *url.URL, whole bool) (document, error) {
	c := clean(page, maxElements)
	root, err := html.ParseWithOptions(strings.NewReader(c.out.String()), html.ParseOptionEnableScripting(false))
	if err != nil {
		return plain(page), nil //nolint:nilerr // nesting is limited; a part that is too deep has text nevertheless
	}
	t := &treeCleaner{base: at}
	if b, err := at.Parse(c.base); err == nil && c.base != "" {
		t.base = b
	}
	t.clean(root, nesting{})
	d := document{title: t.title}
	if !whole && t.text <= maxReadable {
		d = d.article(root, t)
	}
	if d.text == "" {
		if d.text, err = markdown(root); err != nil {
			return d, err
		}
		if d.text == "" {
			d.note = "it may be shown by a script only"
		} else if !whole {
			d.note = "this is the whole page with its menus, as no main text was found"
		}
	}
	switch {
	case c.cut:
		d.note = "the page is very large: its end is left out"
	case c.elements > c.limit:
		d.note = "the page is very large: its end has lost its form"
	}
	if next, err := t.base.Parse(c.refresh); err == nil && c.refresh != "" {
		d.note = join(d.note, "the page leads on to "+next.String())
	}
	return d, nil
}

// article adds the main text and what is known of it, if there is one.
func (d document) article(root *html.Node, t *treeCleaner) document {
	p := readability.NewParser()
	p.DisableJSONLD, p.KeepClasses = true, true
	a, err := p.ParseDocument(root, t.base)
	if err != nil || a.Node == nil || a.Length < minArticle || len(a.TextContent)*100 < minShare*t.text {
		return d
	}
	if d.text, err = markdown(a.Node); err != nil || d.text == "" {
		return document{title: d.title}
	}
	d.author = a.Byline
	if a.Title != "" {
		d.title = a.Title
	}
	if a.PublishedTime != nil {
		d.published = a.PublishedTime.Format(time.DateOnly)
	}
	return d
}

func markdown(n *html.Node) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithListEndComment(false),
		),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithHeaderPromotion(true),
			table.WithSkipEmptyRows(true),
		),
	))
	text, err := conv.ConvertNode(n)
	if err != nil {
		return "", fmt.Errorf("turning the page into Markdown: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// plain is the text of a page without any form.
func plain(page string) document {
	c := clean(page, 0)
	var lines []string
	for line := range strings.Lines(html.UnescapeString(c.out.String())) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return document{text: strings.Join(lines, "\n"), note: "the page is nested too deeply: only its text is left"}
}
