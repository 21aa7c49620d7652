package pdf

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"io"

	"golang.org/x/image/ccitt"
)

// Image is a picture on a page.
type Image struct {
	f    *File
	s    *stream
	area float64
	turn int
}

// errNoPicture: the picture has a compression that is not known.
var errNoPicture = errors.New("the picture has an unknown form")

// Decode returns the picture as JPEG data, or otherwise as a picture, and how many
// quarters it is to be turned clockwise. It refuses one with more pixels than most.
func (i *Image) Decode(most int64) (jpeg []byte, m image.Image, turn int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = asError(p)
		}
	}()
	get := func(long, short name) int {
		if l := i.f.list(i.s.dict, long, short); len(l) == 1 {
			return toInt(i.f.resolve(l[0]))
		}
		return 0
	}
	w, h, bits := get("Width", "W"), get("Height", "H"), get("BitsPerComponent", "BPC")
	if w <= 0 || h <= 0 || int64(w) > most || int64(h) > most/int64(w) {
		return nil, nil, 0, errNoPicture
	}
	data, filter, params := i.f.filtered(i.s)
	turn = i.turn
	switch filter {
	case "DCTDecode", "DCT":
		return data, nil, turn, nil
	case "CCITTFaxDecode", "CCF":
		m, err = i.fax(data, params, h)
		return nil, m, turn, err
	case "":
		m, err = i.samples(data, w, h, bits)
		return nil, m, turn, err
	}
	return nil, nil, 0, errNoPicture
}

// fax reads a picture of a fax.
func (i *Image) fax(data []byte, p dict, h int) (image.Image, error) {
	k := i.f.number(p["K"])
	if k > 0 {
		return nil, errNoPicture
	}
	w := 1728
	if n := toInt(i.f.resolve(p["Columns"])); n > 0 {
		w = n
	}
	kind := ccitt.Group3
	if k < 0 {
		kind = ccitt.Group4
	}
	if w > 1<<16 || h > 1<<16 {
		return nil, errNoPicture
	}
	black := i.f.resolve(p["BlackIs1"]) == true
	r := ccitt.NewReader(bytes.NewReader(data), ccitt.MSB, kind, w, h, &ccitt.Options{Align: i.f.resolve(p["EncodedByteAlign"]) == true, Invert: !black})
	raw, err := io.ReadAll(io.LimitReader(r, int64((w+7)/8*h)))
	if len(raw) == 0 {
		return nil, errors.Join(errNoPicture, err)
	}
	return i.samples(raw, w, h, 1)
}

// samples makes a picture of raw samples.
func (i *Image) samples(data []byte, w, h, bits int) (image.Image, error) {
	if i.f.resolve(i.s.dict["ImageMask"]) == true {
		bits = 1
	}
	space := i.f.list(i.s.dict, "ColorSpace", "CS")
	parts, palette := i.colors(space)
	if parts == 0 || bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 {
		return nil, errNoPicture
	}
	inverted := false
	if d := i.f.list(i.s.dict, "Decode", "D"); len(d) >= 2 {
		inverted = i.f.number(d[0]) > i.f.number(d[1])
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	line, most := (w*parts*bits+7)/8, 1<<min(bits, 8)-1
	sample := func(row []byte, n int) int {
		var v int
		switch at := n * bits; bits {
		case 8:
			v = int(row[n])
		case 16:
			v = int(row[2*n])
		default:
			v = int(row[at/8]) >> (8 - bits - at%8) & most
		}
		if inverted {
			v = most - v
		}
		if palette == nil {
			v = v * 255 / most
		}
		return v
	}
	for y := range h {
		if (y+1)*line > len(data) {
			break
		}
		row := data[y*line : (y+1)*line]
		for x := range w {
			out.SetRGBA(x, y, pixel(parts, palette, func(n int) int { return sample(row, x*parts+n) }))
		}
	}
	return out, nil
}

func pixel(parts int, palette []color.RGBA, sample func(int) int) color.RGBA {
	switch {
	case palette != nil:
		return palette[min(sample(0), len(palette)-1)]
	case parts == 1:
		g := byte(sample(0))
		return color.RGBA{g, g, g, 255}
	case parts == 4:
		r, g, b := color.CMYKToRGB(byte(sample(0)), byte(sample(1)), byte(sample(2)), byte(sample(3)))
		return color.RGBA{r, g, b, 255}
	}
	return color.RGBA{byte(sample(0)), byte(sample(1)), byte(sample(2)), 255}
}

// colors returns how many samples a pixel has, and the palette of an indexed picture.
func (i *Image) colors(space array) (int, []color.RGBA) {
	if len(space) == 0 {
		return 1, nil
	}
	kind, _ := i.f.resolve(space[0]).(name)
	switch kind {
	case "DeviceGray", "G", "CalGray", "Separation":
		return 1, nil
	case "DeviceRGB", "RGB", "CalRGB", "Lab":
		return 3, nil
	case "DeviceCMYK", "CMYK":
		return 4, nil
	case "ICCBased":
		if len(space) > 1 {
			profile, _ := i.f.dict(space[1])
			if n := toInt(i.f.resolve(profile["N"])); n == 1 || n == 3 || n == 4 {
				return n, nil
			}
		}
	case "Indexed", "I":
		if len(space) < 4 {
			return 0, nil
		}
		base := i.f.list(dict{"Base": space[1]}, "Base", "")
		parts, _ := i.colors(base)
		var table []byte
		switch t := i.f.resolve(space[3]).(type) {
		case string:
			table = []byte(t)
		case *stream:
			table = i.f.unpack(t)
		}
		var palette []color.RGBA
		for at := 0; parts > 0 && at+parts <= len(table) && len(palette) < 256; at += parts {
			palette = append(palette, pixel(parts, nil, func(n int) int { return int(table[at+n]) }))
		}
		if len(palette) > 0 {
			return 1, palette
		}
	}
	return 0, nil
}
