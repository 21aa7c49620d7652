package badfiles

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	imagepng "image/png"
	"io/fs"
	"strings"
)

const types = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`

// archive is a ZIP file of names and contents.
func archive(members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i], Method: zip.Deflate}
		if members[i] == "mimetype" {
			h.Method = zip.Store
		}
		w, _ := z.CreateHeader(h) // a buffer takes everything
		_, _ = w.Write([]byte(members[i+1]))
	}
	_ = z.Close()
	return b.Bytes()
}

func relations(id, target string) string {
	return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="` + id + `" Target="` + target + `" TargetMode="External"/></Relationships>`
}

// with are members of which those in more stand in for others of the same name.
func with(members, more []string) []byte {
	for i := 0; i < len(more); i += 2 {
		for j := 0; j < len(members); j += 2 {
			if members[j] == more[i] {
				members = append(members[:j:j], members[j+2:]...)
				break
			}
		}
	}
	return archive(append(members, more...)...)
}

func docx(body string, more []string) []byte {
	return with([]string{"[Content_Types].xml", types, "word/document.xml", `<?xml version="1.0"?><w:document xmlns:w="x"><w:body>` + body + `</w:body></w:document>`}, more)
}

func xlsx(rows string, more []string) []byte {
	return with([]string{
		"[Content_Types].xml", types, "xl/workbook.xml", `<workbook xmlns:r="y"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", strings.Replace(relations("r1", "worksheets/sheet1.xml"), ` TargetMode="External"`, "", 1),
		"xl/worksheets/sheet1.xml", "<worksheet><sheetData>" + rows + "</sheetData></worksheet>",
	}, more)
}

func pptx(words string, more []string) []byte {
	return with([]string{
		"[Content_Types].xml", types, "ppt/presentation.xml", `<p:presentation xmlns:r="y"><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", strings.Replace(relations("r1", "slides/slide1.xml"), ` TargetMode="External"`, "", 1),
		"ppt/slides/slide1.xml", "<p:sld><p:sp><a:p><a:r><a:t>" + words + "</a:t></a:r></a:p></p:sp></p:sld>",
	}, more)
}

func odf(kind, body string) []byte {
	return archive("mimetype", "application/vnd.oasis.opendocument."+kind, "content.xml", "<office:document-content><office:body>"+body+"</office:body></office:document-content>")
}

func epub(root, page string) []byte {
	return archive("mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfile full-path="`+root+`"/></container>`,
		root, `<package><item id="1" href="one.xhtml"/><itemref idref="1"/></package>`, "OEBPS/one.xhtml", page)
}

// bombed is a file of Office or an archive, one part of which unpacks to size bytes.
func bombed(part string, size int) []byte {
	members := map[string][]string{
		"word": {"[Content_Types].xml", types},
		"xl": {
			"[Content_Types].xml", types, "xl/workbook.xml", `<workbook xmlns:r="y"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", strings.Replace(relations("r1", "worksheets/sheet1.xml"), ` TargetMode="External"`, "", 1),
		},
		"ppt": {
			"[Content_Types].xml", types, "ppt/presentation.xml", `<p:presentation xmlns:r="y"><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", strings.Replace(relations("r1", "slides/slide1.xml"), ` TargetMode="External"`, "", 1),
		},
		"content.xml": {"mimetype", "application/vnd.oasis.opendocument.text"},
		"zeros":       {"a.txt", "Words"},
	}[strings.SplitN(part, "/", 2)[0]]
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: members[i]})
		_, _ = w.Write([]byte(members[i+1]))
	}
	w, _ := z.Create(part)
	for chunk := bytes.Repeat([]byte("<row><c><v>1</v></c><w:p><w:t>a</w:t>"), 1<<14); size > 0; size -= len(chunk) {
		_, _ = w.Write(chunk)
	}
	_ = z.Close()
	return b.Bytes()
}

func manyMembers(n int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		_, _ = z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)})
	}
	_ = z.Close()
	return b.Bytes()
}

// symlink is an archive whose member is a link to path.
func symlink(path string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "link.txt"}
	h.SetMode(fs.ModeSymlink | 0o777)
	w, _ := z.CreateHeader(h)
	_, _ = w.Write([]byte(path))
	_ = z.Close()
	return b.Bytes()
}

// central calls change with each entry of an archive's directory.
func central(zipped []byte, change func(entry []byte)) []byte {
	for at := 0; ; {
		i := bytes.Index(zipped[at:], []byte("PK\x01\x02"))
		if i < 0 {
			return zipped
		}
		change(zipped[at+i:])
		at += i + 4
	}
}

// flagged sets bits of the flags of all members, and declared the size that they say
// they unpack to (APPNOTE.TXT of PKWARE, section 4.3.12).
func flagged(zipped []byte, bits uint16) []byte {
	return central(zipped, func(e []byte) { binary.LittleEndian.PutUint16(e[8:], binary.LittleEndian.Uint16(e[8:])|bits) })
}

func declared(zipped []byte, size uint32) []byte {
	return central(zipped, func(e []byte) { binary.LittleEndian.PutUint32(e[24:], size) })
}

// ole is the head of an old file of Office with a stream of that name.
func ole(name string) []byte {
	var wide strings.Builder
	for _, c := range name {
		wide.WriteString(string(c) + "\x00")
	}
	return []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 1000) + wide.String() + strings.Repeat("\x00", 1000))
}

// pdf is a PDF of objects, the first of which is the catalog.
func pdf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

func stream(entries, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data)
}

// pages is a PDF of so many pages with a link to address.
func pages(n int, address string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", stream("", "BT /F1 9 Tf 72 700 Td (Words) Tj ET"), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	var kids strings.Builder
	for i := range n {
		fmt.Fprintf(&kids, "%d 0 R ", i+5)
		objects = append(objects, "<< /Type /Page /Parent 2 0 R /Contents 3 0 R /Resources << /Font << /F1 4 0 R >> >> /Annots [<< /Subtype /Link /A << /S /URI /URI (http://"+address+"/pdf) >> >>] >>")
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), n)
	return pdf(objects...)
}

func deflated(data []byte) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.String()
}

// zeros deflates n zeros without holding them.
func zeros(n int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for chunk := make([]byte, 1<<16); n > 0; n -= len(chunk) {
		_, _ = z.Write(chunk[:min(n, len(chunk))])
	}
	_ = z.Close()
	return b.String()
}

func picture(kind string, w, h int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(i*7) | 0x80
	}
	var b bytes.Buffer
	if kind == "png" {
		_ = imagepng.Encode(&b, m)
	} else {
		_ = jpeg.Encode(&b, m, nil)
	}
	return b.Bytes()
}

// png has a head of that size, and the rows of data.
func png(w, h uint32, data string) []byte {
	chunk := func(b []byte, kind, data string) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data))) //nolint:gosec // small
		b = append(append(b, kind...), data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	out := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", string(append(head, 8, 6, 0, 0, 0)))
	return chunk(chunk(out, "IDAT", data), "IEND", "")
}

// sized lets a JPEG say that it has another size.
func sized(jpg []byte, w, h uint16) []byte {
	at := bytes.Index(jpg, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(jpg[at+5:], h)
	binary.BigEndian.PutUint16(jpg[at+7:], w)
	return jpg
}

// gifOf is a picture that moves, of so many frames.
func gifOf(frames int) []byte {
	moving := &gif.GIF{Config: image.Config{Width: 4, Height: 2}}
	frame := image.NewPaletted(image.Rect(0, 0, 4, 2), color.Palette{color.White, color.Black})
	for range frames {
		moving.Image, moving.Delay = append(moving.Image, frame), append(moving.Delay, 1)
	}
	var b bytes.Buffer
	_ = gif.EncodeAll(&b, moving)
	return b.Bytes()
}

// webp is the head of a lossless picture of that size, and some of its data.
func webp(w, h uint32) []byte {
	data := binary.LittleEndian.AppendUint32([]byte{0x2f}, w-1|(h-1)<<14)
	data = append(data, bytes.Repeat([]byte{0x88}, 59)...)
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))         //nolint:gosec // small
	out = binary.LittleEndian.AppendUint32(append(out, "WEBPVP8L"...), uint32(len(data))) //nolint:gosec // small
	return append(out, data...)
}

func ogg() []byte {
	return append([]byte("OggS\x00\x02"), bytes.Repeat([]byte("\x00\x01OpusHead"), 100)...)
}

// mp4 has a box of media that says it has so many bytes.
func mp4(size uint32) []byte {
	out := []byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41")
	return append(append(binary.BigEndian.AppendUint32(out, size), "mdat"...), make([]byte, 1<<10-8)...)
}
