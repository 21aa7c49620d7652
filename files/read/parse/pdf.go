package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"legwork/files/read/pdf"
)

// parsePDF gives the pages, and the pictures of those without text.
func parsePDF(src Source, s *sink) error {
	data, err := io.ReadAll(src.reader())
	if err != nil {
		return err
	}
	f, err := pdf.Open(data, s.limits.Unpacked)
	if err != nil {
		return reasonOf(err)
	}
	s.Title = f.Title()
	if s.Total = f.Pages(); s.Total > s.limits.Pages {
		return ErrPages
	}
	sound := 0
	for n := 0; ; n++ {
		page, ok, err := f.Page(n)
		switch {
		case errors.Is(err, pdf.ErrUnpacked):
			return ErrUnpacked
		case !ok:
			if sound == 0 {
				return fmt.Errorf("%w: it has no pages that can be read", ErrDamaged)
			}
			s.Total = n
			if f.Repaired() {
				s.note(NoteDamaged)
			}
			return nil
		case err != nil:
			s.note(NoteDamaged)
		case n >= s.limits.Pages:
			return ErrPages
		}
		if err == nil {
			sound++
		}
		p := Part{Name: fmt.Sprintf("page %d", n+1), Text: page.Text}
		if strings.TrimSpace(page.Text) == "" {
			p.Picture = s.scan(page)
		}
		if err := s.part(p); err != nil {
			return err
		}
	}
}

// scan returns the picture of a page without text; nil without one.
func (s *sink) scan(page pdf.Page) *Picture {
	if page.Image == nil || s.pictures >= s.limits.Pictures {
		s.note(NoteBlank)
		return nil
	}
	data, m, turn, err := page.Image.Decode(s.limits.Pixels)
	if err == nil && data != nil {
		m, _, err = s.decode("image/jpeg", data)
	}
	if err != nil {
		s.note(NoteBlank)
		return nil
	}
	p, err := encodePicture(upright(shrink(m, s.limits.Side), [...]int{1, 6, 3, 8}[turn%4]))
	if err != nil {
		s.note(NoteBlank)
		return nil
	}
	s.pictures++
	s.note(NoteScan)
	return p
}

func reasonOf(err error) error {
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		return ErrEncrypted
	case errors.Is(err, pdf.ErrUnpacked):
		return ErrUnpacked
	}
	return errors.Join(ErrDamaged, err)
}
