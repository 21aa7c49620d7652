package write

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // a kind of picture that is read
	_ "image/jpeg" // likewise
	"image/png"

	_ "golang.org/x/image/webp" // likewise
)

// picture is one that a document shows: PNG or JPEG.
type picture struct {
	data          []byte
	ext           string // "png" or "jpeg"
	width, height int    // in pixels
}

// pictures reads what a document names, each once.
type pictures struct {
	read func(name string) ([]byte, error)
	all  map[string]picture
}

var errNoPicture = errors.New("there is no such file")

func newPictures(o Options) *pictures {
	return &pictures{read: o.Pictures, all: map[string]picture{}}
}

func (p *pictures) get(name string) (picture, error) {
	if known, ok := p.all[name]; ok {
		return known, nil
	}
	if len(p.all) >= MaxPictures {
		return picture{}, &TooLargeError{What: "pictures", Limit: MaxPictures}
	}
	if p.read == nil {
		return picture{}, &PictureError{Name: name, Err: errNoPicture}
	}
	data, err := p.read(name)
	if err != nil {
		return picture{}, &PictureError{Name: name, Err: err}
	}
	made, err := readPicture(data)
	if err != nil {
		return picture{}, &PictureError{Name: name, Err: err}
	}
	p.all[name] = made
	return made, nil
}

// readPicture makes sure that a picture can be shown everywhere: JPEG stays as it
// is, and all others become PNG of eight bits, of animated ones the first frame.
func readPicture(data []byte) (picture, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return picture{}, fmt.Errorf("reading it as PNG, JPEG, GIF or WebP: %w", err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > MaxPicture/config.Height {
		return picture{}, &TooLargeError{What: "pixels", Limit: MaxPicture, Got: config.Width * config.Height}
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return picture{}, fmt.Errorf("reading it: %w", err)
	}
	made := picture{data: data, ext: "jpeg", width: config.Width, height: config.Height}
	if format != "jpeg" {
		var out bytes.Buffer
		if err := png.Encode(&out, eightBits(decoded)); err != nil {
			return picture{}, fmt.Errorf("writing it as PNG: %w", err)
		}
		made.data, made.ext = out.Bytes(), "png"
	}
	return made, nil
}

func eightBits(from image.Image) image.Image {
	switch from.(type) {
	case *image.NRGBA, *image.RGBA, *image.Gray, *image.Paletted:
		return from
	}
	to := image.NewNRGBA(image.Rect(0, 0, from.Bounds().Dx(), from.Bounds().Dy()))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			to.Set(x, y, from.At(from.Bounds().Min.X+x, from.Bounds().Min.Y+y))
		}
	}
	return to
}

// fit scales a picture's pixels, 96 to an inch, into a box, and returns its size in
// the unit of which an inch has perInch.
func (p picture) fit(perInch, width, height float64) (w, h float64) {
	w, h = float64(p.width)/96*perInch, float64(p.height)/96*perInch
	scale := min(1, width/w, height/h)
	return w * scale, h * scale
}
