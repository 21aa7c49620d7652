package write

import (
	"archive/zip"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

const (
	xmlHead    = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	namespaces = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"`
	separators = `<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote><w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>`
	relation   = `<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`
)

// pack writes the parts as a ZIP archive.
func (x *docx) pack(w io.Writer, o Options, title, body, notes string) error {
	archive := zip.NewWriter(w)
	styles := strings.NewReplacer("{{language}}", o.tag().String(), "{{asian}}", asianFont(o))
	template := func(name string) string {
		text, err := templates.ReadFile("docx/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		return strings.TrimSpace(styles.Replace(string(text)))
	}
	links := x.links.all
	for _, part := range []string{"styles", "settings", "numbering", "footnotes", "footer"} {
		links = append(links, fmt.Sprintf(relation, part, part, part+".xml"))
	}
	parts := []struct{ name, text string }{
		{"[Content_Types].xml", template("types.xml")},
		{"_rels/.rels", template("rels.xml")},
		{"docProps/core.xml", properties(o, title)},
		{"word/document.xml", xmlHead + "<w:document" + namespaces + "><w:body>" + body + "</w:body></w:document>"},
		{"word/styles.xml", template("styles.xml")},
		{"word/settings.xml", template("settings.xml")},
		{"word/footer.xml", template("footer.xml")},
		{"word/numbering.xml", x.numbering()},
		{"word/footnotes.xml", xmlHead + "<w:footnotes" + namespaces + ">" + separators + notes + "</w:footnotes>"},
		{"word/_rels/document.xml.rels", relationships(links)},
		{"word/_rels/footnotes.xml.rels", relationships(x.ofNotes.all)},
	}
	for i, made := range x.media {
		parts = append(parts, struct{ name, text string }{fmt.Sprintf("word/media/%d.%s", i+1, made.ext), string(made.data)})
	}
	for _, part := range parts {
		file, err := archive.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate, Modified: o.Now})
		if err == nil {
			_, err = io.WriteString(file, part.text)
		}
		if err != nil {
			return fmt.Errorf("writing DOCX: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("writing DOCX: %w", err)
	}
	return nil
}

func relationships(all []string) string {
	return xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + strings.Join(all, "") + "</Relationships>"
}

func properties(o Options, title string) string {
	var out strings.Builder
	out.WriteString(xmlHead + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`)
	fmt.Fprintf(&out, "<dc:title>%s</dc:title><dc:creator>%s</dc:creator>", escape(title), escape(clean(o.Author)))
	if !o.Now.IsZero() {
		fmt.Fprintf(&out, `<dcterms:created xsi:type="dcterms:W3CDTF">%s</dcterms:created>`, o.Now.UTC().Format(time.RFC3339))
	}
	out.WriteString("</cp:coreProperties>")
	return out.String()
}

// numbering defines bullets, number 1, and one number for each ordered list.
func (x *docx) numbering() string {
	var out strings.Builder
	out.WriteString(xmlHead + "<w:numbering" + namespaces + ">")
	level := func(i int, format, text string) {
		fmt.Fprintf(&out, `<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="%d" w:hanging="%d"/></w:pPr></w:lvl>`,
			i, format, text, (i+1)*docxIndent, docxIndent)
	}
	out.WriteString(`<w:abstractNum w:abstractNumId="1"><w:multiLevelType w:val="hybridMultilevel"/>`)
	for i := range maxLevels {
		level(i, "bullet", []string{"•", "–", "▪"}[i%3])
	}
	out.WriteString(`</w:abstractNum><w:abstractNum w:abstractNumId="2"><w:multiLevelType w:val="hybridMultilevel"/>`)
	for i := range maxLevels {
		level(i, "decimal", fmt.Sprintf("%%%d.", i+1))
	}
	out.WriteString(`</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>`)
	for i, s := range x.starts {
		fmt.Fprintf(&out, `<w:num w:numId="%d"><w:abstractNumId w:val="2"/><w:lvlOverride w:ilvl="%d"><w:startOverride w:val="%d"/></w:lvlOverride></w:num>`, i+2, s.level, s.start)
	}
	out.WriteString("</w:numbering>")
	return out.String()
}

// asianFont is the font of Word for characters of China, Japan and Korea, by the
// text's language: their shapes differ.
func asianFont(o Options) string {
	switch base, _ := o.tag().Base(); base.String() {
	case "ja":
		return "Yu Gothic"
	case "ko":
		return "Malgun Gothic"
	}
	return "Microsoft YaHei"
}

// escape makes text safe within XML and HTML, also in attributes.
func escape(text string) string {
	return html.EscapeString(clean(text))
}
