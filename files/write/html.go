package write

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// The page may run and fetch nothing, whatever it holds.
const htmlHead = `<!DOCTYPE html>
<html lang="%s">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
body { font: 1rem/1.55 system-ui, "Segoe UI", Arial, sans-serif; color: #222b36; background: #fff; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1, h2, h3, h4, h5, h6 { color: #1f3a5f; line-height: 1.25; margin: 1.6em 0 .5em; }
a { color: #0b5cad; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1em 0; }
th, td { border: 1px solid #b8c4d2; padding: .35em .6em; vertical-align: top; }
th { background: #e8edf3; text-align: start; }
pre { background: #f4f6f8; border: 1px solid #d8dee6; padding: .7em; overflow-x: auto; }
code { font-family: ui-monospace, Consolas, monospace; font-size: .9em; background: #f0f2f5; }
pre code { background: none; }
blockquote { border-inline-start: 4px solid #b8c4d2; margin: 1em 0; padding-inline-start: 1em; color: #44546a; }
img { max-width: 100%%; }
hr { border: 0; border-top: 1px solid #b8c4d2; margin: 2em 0; }
.notes { border-top: 1px solid #b8c4d2; margin-top: 3em; font-size: .9em; }
</style>
</head>
<body>
`

// page writes a document as HTML. Every text is escaped, and no tag but those below
// is written.
type page struct {
	out      strings.Builder
	pictures *pictures
}

func writeHTML(w io.Writer, d document, o Options) error {
	p := &page{pictures: newPictures(o)}
	fmt.Fprintf(&p.out, htmlHead, escape(o.tag().String()), escape(o.title(d)))
	if err := p.blocks(d.blocks, false); err != nil {
		return err
	}
	if len(d.notes) > 0 {
		p.out.WriteString("<ol class=\"notes\">\n")
		for i, note := range d.notes {
			fmt.Fprintf(&p.out, `<li id="note-%d">`, i+1)
			if err := p.blocks(note, true); err != nil {
				return err
			}
			fmt.Fprintf(&p.out, " <a href=\"#mark-%d\">↑</a></li>\n", i+1)
		}
		p.out.WriteString("</ol>\n")
	}
	p.out.WriteString("</body>\n</html>\n")
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("writing HTML: %w", err)
	}
	return nil
}

// blocks writes blocks; in a tight list, paragraphs are bare text.
func (p *page) blocks(blocks []block, tight bool) error {
	for _, b := range blocks {
		if err := p.block(b, tight); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) block(b block, tight bool) error {
	switch b.kind {
	case heading:
		fmt.Fprintf(&p.out, `<h%d id="%s" dir="auto">`, b.level, escape(b.slug))
		return p.inline(b.runs, fmt.Sprintf("</h%d>\n", b.level))
	case paragraph:
		if tight {
			return p.inline(b.runs, "\n")
		}
		p.out.WriteString(`<p dir="auto">`)
		return p.inline(b.runs, "</p>\n")
	case list:
		tag := "ul"
		if b.ordered {
			tag = "ol"
			fmt.Fprintf(&p.out, "<ol start=\"%d\">\n", b.start)
		} else {
			p.out.WriteString("<ul>\n")
		}
		for _, child := range b.children {
			p.out.WriteString(`<li dir="auto">`)
			if err := p.blocks(child.children, b.tight); err != nil {
				return err
			}
			p.out.WriteString("</li>\n")
		}
		p.out.WriteString("</" + tag + ">\n")
	case quote:
		p.out.WriteString("<blockquote>\n")
		if err := p.blocks(b.children, false); err != nil {
			return err
		}
		p.out.WriteString("</blockquote>\n")
	case code:
		p.out.WriteString("<pre><code>" + escape(b.text) + "</code></pre>\n")
	case table:
		return p.table(b)
	case rule:
		p.out.WriteString("<hr>\n")
	}
	return nil
}

func (p *page) table(b block) error {
	p.out.WriteString("<table>\n")
	for i, row := range b.rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		p.out.WriteString("<tr>")
		for column, runs := range row {
			align := ""
			if b.align[column] != "" {
				align = fmt.Sprintf(` style="text-align: %s"`, b.align[column])
			}
			fmt.Fprintf(&p.out, `<%s dir="auto"%s>`, tag, align)
			if err := p.inline(runs, "</"+tag+">"); err != nil {
				return err
			}
		}
		p.out.WriteString("</tr>\n")
	}
	p.out.WriteString("</table>\n")
	return nil
}

func (p *page) inline(runs []run, end string) error {
	for _, r := range runs {
		switch {
		case r.note > 0:
			fmt.Fprintf(&p.out, `<sup id="mark-%[1]d"><a href="#note-%[1]d">%[1]d</a></sup>`, r.note)
		case r.picture != "":
			made, err := p.pictures.get(r.picture)
			if err != nil {
				return err
			}
			if p.out.Len()+len(made.data)*4/3 > MaxBytes {
				return &TooLargeError{What: "bytes of the made file", Limit: MaxBytes}
			}
			fmt.Fprintf(&p.out, `<img alt="%s" src="data:image/%s;base64,%s">`, escape(r.text), made.ext, base64.StdEncoding.EncodeToString(made.data))
		case r.text == "\n":
			p.out.WriteString("<br>\n")
		default:
			p.text(r)
		}
	}
	p.out.WriteString(end)
	return nil
}

func (p *page) text(r run) {
	var end string
	open := func(tag, attributes string) {
		p.out.WriteString("<" + tag + attributes + ">")
		end = "</" + tag + ">" + end
	}
	if r.link != "" {
		open("a", fmt.Sprintf(` href="%s" rel="noreferrer noopener"`, escape(r.link)))
	}
	if r.bold {
		open("strong", "")
	}
	if r.italic {
		open("em", "")
	}
	if r.strike {
		open("del", "")
	}
	if r.code {
		open("code", "")
	}
	p.out.WriteString(escape(r.text) + end)
}
