package parse

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	htmlcharset "golang.org/x/net/html/charset"

	"legwork/internal/charset"
)

// maxHTML is how large a page, or a chapter of a book, may be: its tree is held.
const maxHTML = 16 << 20

// parseHTML gives ranges of lines of the page as Markdown.
func parseHTML(src Source, s *sink) error {
	text, title, err := markdownOf(src.reader())
	if err != nil {
		return err
	}
	s.Title = title
	return s.lines("lines", text)
}

// lines gives ranges of lines of a text.
func (s *sink) lines(unit, text string) error {
	p := &pieces{s: s, unit: unit}
	for line := range strings.Lines(text) {
		for len(line) > partBytes {
			if err := p.add(line[:partBytes], false); err != nil {
				return err
			}
			line = line[partBytes:]
		}
		if err := p.add(line, true); err != nil {
			return err
		}
	}
	return p.end()
}

// markdownOf turns an HTML page into Markdown, and returns its title. Pictures and links
// stay as their texts: a page that was sent as a file has no address.
func markdownOf(r io.Reader) (text, title string, err error) {
	page, err := io.ReadAll(io.LimitReader(r, maxHTML+1))
	switch {
	case err != nil:
		return "", "", err
	case len(page) > maxHTML:
		return "", "", ErrUnpacked
	}
	e, name, certain := htmlcharset.DetermineEncoding(page, "")
	if !certain && name == charset.Undeclared && !bytes.Contains(bytes.ToLower(page[:min(len(page), 1024)]), []byte("charset")) || charset.ValidUTF8(page) {
		e, _ = charset.Of(page)
	}
	decoded, err := e.NewDecoder().Bytes(page)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	root, err := html.ParseWithOptions(bytes.NewReader(decoded), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	title = strip(root)
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))
	out, err := conv.ConvertNode(root)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return string(out), title, nil
}

// strip removes pictures that stand in the page itself, whose addresses are long, and
// returns the title.
func strip(root *html.Node) string {
	title := ""
	for n := range root.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "title" && n.FirstChild != nil && title == "":
			title = n.FirstChild.Data
		default:
			for i := range n.Attr {
				if (n.Attr[i].Key == "src" || n.Attr[i].Key == "href") && strings.HasPrefix(strings.TrimSpace(n.Attr[i].Val), "data:") {
					n.Attr[i].Val = ""
				}
			}
		}
	}
	return clip(title, 1000)
}

// parseEPUB gives the chapters of a book (https://www.w3.org/TR/epub-33/).
func parseEPUB(src Source, s *sink) error {
	a, err := openArchive(src, s)
	if err != nil {
		return err
	}
	if a.files["META-INF/rights.xml"] != nil {
		return ErrEncrypted
	}
	main := ""
	err = a.each("META-INF/container.xml", func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && main == "" {
			main = attr(e, "full-path")
		}
		return nil
	})
	if err != nil {
		return err
	}
	items := map[string]string{}
	var spine []string
	err = a.each(main, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "item":
			name, err := url.PathUnescape(attr(e, "href"))
			if err != nil {
				name = attr(e, "href")
			}
			items[attr(e, "id")] = path.Join(path.Dir(main), name)
		case "itemref":
			spine = append(spine, items[attr(e, "idref")])
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Title = a.title(main)
	s.Total = len(spine)
	for i, name := range spine {
		if a.files[name] == nil {
			s.note(NoteDamaged)
			continue
		}
		r, err := a.open(name)
		if err != nil {
			return err
		}
		text, _, err := markdownOf(r)
		r.Close()
		if err != nil {
			return err
		}
		if err := s.lines(fmt.Sprintf("chapter %d, lines", i+1), text); err != nil {
			return err
		}
	}
	return nil
}
