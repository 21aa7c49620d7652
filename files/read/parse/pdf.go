package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"legwork/files/read/pdf"
)

// parsePDF gives the pages, and pictures of those without text.
func parsePDF(src Source, s *sink) error {
	if src.PDF == nil {
		return KindError{typePDF}
	}
	f, err := src.PDF.Open(io.NewSectionReader(src, 0, src.Size), src.Size)
	if err != nil {
		return reasonOf(err)
	}
	s.Title, s.Author = f.About("Title"), f.About("Author")
	if s.Total = f.Pages; s.Total > s.limits.Pages {
		return ErrPages
	}
	sound := 0
	for n := range f.Pages {
		text, err := f.Text(n)
		switch {
		case errors.Is(err, pdf.ErrMemory):
			return reasonOf(err)
		case err != nil:
			s.note(NoteDamaged)
		default:
			sound++
		}
		p := Part{Name: fmt.Sprintf("page %d", n+1), Text: text}
		if err == nil && strings.TrimSpace(text) == "" {
			p.Picture = s.scan(f, n)
		}
		if err := s.part(p); err != nil {
			return err
		}
	}
	if sound == 0 {
		return fmt.Errorf("%w: it has no pages that can be read", ErrDamaged)
	}
	return nil
}

// scan returns the picture of a page without text; nil without one.
func (s *sink) scan(f *pdf.File, n int) *Picture {
	if s.pictures >= s.limits.Pictures {
		s.Cut = true
		s.note(NoteBlank)
		return nil
	}
	m, err := f.Picture(n, s.limits.Side)
	if err != nil || m == nil {
		s.note(NoteBlank)
		return nil
	}
	p, err := encodePicture(m)
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
	case errors.Is(err, pdf.ErrPassword):
		return ErrEncrypted
	case errors.Is(err, pdf.ErrMemory):
		return ErrUnpacked
	}
	return errors.Join(ErrDamaged, err)
}
