package parse

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	htmlcharset "golang.org/x/net/html/charset"

	"legwork/internal/charset"
)

// maxMail is how large the text of a mail may be, and maxNesting how deep its parts.
const (
	maxMail    = 4 << 20
	maxNesting = 10
)

// parseMail gives the head and the text of a mail as one part, and the names of its
// attachments.
func parseMail(src Source, s *sink) error {
	m, err := mail.ReadMessage(src.reader())
	if err != nil {
		return errors.Join(ErrDamaged, err)
	}
	var head strings.Builder
	words := mime.WordDecoder{CharsetReader: htmlcharset.NewReaderLabel}
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		value := m.Header.Get(name)
		if decoded, err := words.DecodeHeader(value); err == nil {
			value = decoded
		}
		if value != "" {
			head.WriteString(name + ": " + strings.Join(strings.Fields(value), " ") + "\n")
		}
		if name == "Subject" {
			s.Title = value
		}
	}
	if err := s.part(Part{Name: "head", Text: head.String()}); err != nil {
		return err
	}
	b := &mailBody{s: s}
	if err := b.entity(textproto.MIMEHeader(m.Header), m.Body, 0); err != nil {
		return err
	}
	text := b.plain
	if strings.TrimSpace(text) == "" {
		text = b.html
	}
	if err := s.lines("lines", text); err != nil || len(b.attached) == 0 {
		return err
	}
	s.note(NoteAttachments)
	return s.part(Part{Name: "attachments", Text: "- " + strings.Join(b.attached, "\n- ")})
}

type mailBody struct {
	s           *sink
	plain, html string
	attached    []string
}

func (b *mailBody) entity(head textproto.MIMEHeader, body io.Reader, depth int) error {
	kind, params, err := mime.ParseMediaType(head.Get("Content-Type"))
	if err != nil {
		kind = typeText
	}
	disposition, names, _ := mime.ParseMediaType(head.Get("Content-Disposition")) // none: a part of the text
	name := names["filename"]
	if name == "" {
		name = params["name"]
	}
	switch {
	case depth > maxNesting:
		return fmt.Errorf("%w: its parts are too deep", ErrDamaged)
	case strings.HasPrefix(kind, "multipart/"):
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				b.s.note(NoteDamaged)
				return nil //nolint:nilerr // the parts before are read
			}
			if err := b.entity(p.Header, p, depth+1); err != nil {
				return err
			}
		}
	case disposition == "attachment" || name != "" || !strings.HasPrefix(kind, "text/"):
		if len(b.attached) < 1000 {
			decoded, err := new(mime.WordDecoder).DecodeHeader(name)
			if err != nil {
				decoded = name
			}
			b.attached = append(b.attached, cell(clip(clean(decoded), 200)+" ("+kind+")"))
		}
		return nil
	}
	return b.text(kind, params["charset"], transferDecoder(head, body))
}

func transferDecoder(head textproto.MIMEHeader, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(head.Get("Content-Transfer-Encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

func (b *mailBody) text(kind, label string, body io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(body, maxMail))
	if err != nil {
		b.s.note(NoteDamaged)
	}
	e, _ := htmlcharset.Lookup(label)
	if e == nil {
		e, _ = charset.Of(raw)
	}
	decoded, err := e.NewDecoder().String(string(raw))
	if err != nil {
		decoded = string(raw)
	}
	if kind != typeHTML {
		b.plain += decoded + "\n"
		return nil
	}
	text, _, err := markdownOf(strings.NewReader(decoded))
	b.html += text + "\n"
	return err
}
