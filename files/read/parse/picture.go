package parse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Picture is a picture as models take it: upright, scaled down, without metadata.
type Picture struct {
	Type   string `json:"type"` // image/jpeg, or image/png when it is transparent
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Data   []byte `json:"data"`
}

// jpegQuality keeps small print readable.
const jpegQuality = 85

// parsePicture gives the picture as one part.
func parsePicture(src Source, s *sink) error {
	s.Total = 1
	data, err := io.ReadAll(src.reader())
	if err != nil {
		return err
	}
	m, turn, err := s.decode(s.Type, data)
	if err != nil {
		return err
	}
	p, err := encodePicture(upright(shrink(m, s.limits.Side), turn))
	if err != nil {
		return err
	}
	return s.part(Part{Name: "picture", Picture: p})
}

// ReadPicture returns a file that is a picture.
func ReadPicture(src Source, l Limits) (Picture, error) {
	var p *Picture
	d, err := File(src, l, func(part Part) error { p = part.Picture; return nil })
	switch {
	case err != nil:
		return Picture{}, err
	case p == nil:
		return Picture{}, KindError{d.Type}
	}
	return *p, nil
}

// codec reads one format of pictures.
type codec struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

func codecOf(kind string) (codec, bool) {
	c, ok := map[string]codec{
		"image/png":  {png.DecodeConfig, png.Decode},
		"image/apng": {png.DecodeConfig, png.Decode},
		"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode},
		"image/gif":  {gif.DecodeConfig, gif.Decode}, // the first frame
		"image/webp": {webp.DecodeConfig, webp.Decode},
		"image/bmp":  {bmp.DecodeConfig, bmp.Decode},
		"image/tiff": {tiff.DecodeConfig, tiff.Decode}, // the first page
	}[kind]
	return c, ok
}

// decode returns a picture and how it is to be turned. Its size is looked at first.
func (s *sink) decode(kind string, data []byte) (image.Image, int, error) {
	c, ok := codecOf(kind)
	if !ok {
		return nil, 0, KindError{kind}
	}
	turn := orientation(kind, data)
	if kind == "image/webp" {
		if still := firstFrame(data); still != nil {
			s.note(NoteAnimated)
			data = still
		}
	}
	if kind == "image/apng" || kind == "image/gif" && bytes.Contains(data[:min(len(data), headSize)], []byte("NETSCAPE2.0")) {
		s.note(NoteAnimated)
	}
	config, err := c.config(bytes.NewReader(data))
	if err != nil {
		return nil, 0, errors.Join(ErrDamaged, err)
	}
	w, h := int64(config.Width), int64(config.Height)
	switch {
	case w <= 0 || h <= 0:
		return nil, 0, fmt.Errorf("%w: it has no size", ErrDamaged)
	case w > s.limits.Pixels || h > s.limits.Pixels/w:
		return nil, 0, ErrPixels
	}
	m, err := c.decode(bytes.NewReader(data))
	if err != nil {
		return nil, 0, errors.Join(ErrDamaged, err)
	}
	return m, turn, nil
}

// encodePicture writes a picture without any metadata.
func encodePicture(m *image.RGBA) (*Picture, error) {
	p := &Picture{Type: "image/jpeg", Width: m.Rect.Dx(), Height: m.Rect.Dy()}
	var b bytes.Buffer
	var err error
	if m.Opaque() {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: jpegQuality})
	} else {
		p.Type = "image/png"
		err = png.Encode(&b, m)
	}
	p.Data = b.Bytes()
	return p, err
}

// shrink scales a picture down to a longest side. Each pixel is the mean of those that it
// stands for, so that thin lines and print stay. Only stripes of the picture are
// converted at a time, for the sake of memory.
func shrink(m image.Image, side int) *image.RGBA {
	from := m.Bounds()
	w, h := from.Dx(), from.Dy()
	if longest := max(w, h); longest > side {
		w, h = max(w*side/longest, 1), max(h*side/longest, 1)
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if w == from.Dx() && h == from.Dy() {
		draw.Draw(out, out.Rect, m, from.Min, draw.Src)
		return out
	}
	stripe := image.NewRGBA(image.Rect(0, 0, from.Dx(), from.Dy()/h+2))
	sums := make([]uint32, 4*w)
	for y := range h {
		top, bottom := y*from.Dy()/h, max((y+1)*from.Dy()/h, y*from.Dy()/h+1)
		rows := image.Rect(0, 0, from.Dx(), bottom-top)
		draw.Draw(stripe, rows, m, image.Pt(from.Min.X, from.Min.Y+top), draw.Src)
		for x := range w {
			left, right := x*from.Dx()/w, max((x+1)*from.Dx()/w, x*from.Dx()/w+1)
			sum := sums[4*x : 4*x+4]
			clear(sum)
			for sy := range bottom - top {
				line := stripe.Pix[sy*stripe.Stride+4*left : sy*stripe.Stride+4*right]
				for i, v := range line {
					sum[i%4] += uint32(v)
				}
			}
			n := uint32((right - left) * (bottom - top)) //nolint:gosec // at most the pixels of a picture
			for i := range sum {
				out.Pix[y*out.Stride+4*x+i] = uint8((sum[i] + n/2) / n) //nolint:gosec // the mean of bytes
			}
		}
	}
	return out
}

// upright turns and mirrors a picture by its EXIF orientation, 1 to 8.
func upright(m *image.RGBA, turn int) *image.RGBA {
	if turn < 2 || turn > 8 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if turn > 4 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch turn {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(out.Pix[ty*out.Stride+4*tx:][:4], m.Pix[y*m.Stride+4*x:][:4])
		}
	}
	return out
}

// orientation returns how a picture is to be turned, from the EXIF data in it; 1 when it
// says nothing (CIPA DC-008).
func orientation(kind string, data []byte) int {
	switch kind {
	case "image/tiff":
		return orientationTag(data)
	case "image/jpeg":
		for at := 2; at+4 <= len(data) && data[at] == 0xff; {
			size := int(binary.BigEndian.Uint16(data[at+2:]))
			end := at + 2 + size
			if data[at+1] == 0xda || end > len(data) || size < 2 {
				break // the picture itself
			}
			if exif, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); data[at+1] == 0xe1 && ok {
				return orientationTag(exif)
			}
			at = end
		}
	case "image/png", "image/apng":
		for at := 8; at+12 <= len(data); {
			size := int(binary.BigEndian.Uint32(data[at:]))
			if size > len(data)-at-12 {
				break
			}
			if string(data[at+4:at+8]) == "eXIf" {
				return orientationTag(data[at+8 : at+8+size])
			}
			at += 12 + size
		}
	case "image/webp":
		for _, c := range chunks(data) {
			if c.id == "EXIF" {
				return orientationTag(bytes.TrimPrefix(c.data, []byte("Exif\x00\x00")))
			}
		}
	}
	return 1
}

// orientationTag finds the orientation in a TIFF structure.
func orientationTag(t []byte) int {
	if len(t) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if t[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(t[4:]))
	if at+2 > int64(len(t)) {
		return 1
	}
	n := int64(order.Uint16(t[at:]))
	for i := range n {
		entry := at + 2 + 12*i
		if entry+12 > int64(len(t)) {
			break
		}
		if order.Uint16(t[entry:]) == 0x112 {
			return int(order.Uint16(t[entry+8:]))
		}
	}
	return 1
}

// chunk is a part of a RIFF file such as WebP.
type chunk struct {
	id   string
	data []byte
}

func chunks(data []byte) (all []chunk) {
	for at := 12; at+8 <= len(data) && len(all) < 1000; {
		size := int(binary.LittleEndian.Uint32(data[at+4:]))
		if size > len(data)-at-8 {
			break
		}
		all = append(all, chunk{string(data[at : at+4]), data[at+8 : at+8+size]})
		at += 8 + size + size%2
	}
	return all
}

// firstFrame returns the first frame of an animated WebP as a picture of its own; nil
// when it is not animated. The package webp reads stills only
// (https://developers.google.com/speed/webp/docs/riff_container).
func firstFrame(data []byte) []byte {
	for _, c := range chunks(data) {
		const head = 16 // place, size and duration of the frame
		if c.id != "ANMF" || len(c.data) < head {
			continue
		}
		frame := chunks(append(make([]byte, 12), c.data[head:]...))
		var body []byte
		for _, f := range frame {
			switch f.id {
			case "ALPH":
				header := append([]byte{0x10, 0, 0, 0}, c.data[6:12]...) // the frame has transparency
				body = append(body, riff("VP8X", header)...)
				body = append(body, riff(f.id, f.data)...)
			case "VP8 ", "VP8L":
				body = append(body, riff(f.id, f.data)...)
			}
		}
		return riff("RIFF", append([]byte("WEBP"), body...))
	}
	return nil
}

func riff(id string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(data))) //nolint:gosec // shorter than the file
	out = append(out, data...)
	if len(data)%2 != 0 {
		out = append(out, 0)
	}
	return out
}
