package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"

	"golang.org/x/image/draw"
)

// How coarsely pictures are compared. Fonts and their edges differ between
// machines; a missing card or a broken layout changes more.
const (
	reduced  = 2    // approved pictures are this many times smaller than the page
	cell     = 12   // the side of the squares whose mean colours are compared, in pixels of an approved picture
	shade    = 10   // of 255: how much a colour of two like squares differs at most
	tolerant = 0.01 // the share of squares that may differ
)

// masking hides what differs at each run: times, ids, durations, the caret. The
// Content-Security-Policy of the page forbids a style element, but no style sheet made
// by a script.
const masking = `(() => {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync("time, [data-volatile] { visibility: hidden !important } * { caret-color: transparent !important; animation: none !important; transition: none !important }");
	const before = document.adoptedStyleSheets;
	document.adoptedStyleSheets = [...before, sheet];
	return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(null))));
})()`

const unmasking = `document.adoptedStyleSheets = document.adoptedStyleSheets.slice(0, -1); null`

// Resembles compares what the tab shows with the approved picture NAME-VIEW.png in
// the test's folder testdata. With update, it approves what the tab shows.
func (tab *Tab) Resembles(name string, update bool) {
	tab.t.Helper()
	tab.Eval(masking, nil)
	taken, err := picture(tab.ctx)
	tab.Eval(unmasking, nil)
	if err != nil {
		tab.t.Fatalf("taking a picture: %v", err)
	}
	got, err := reduce(taken)
	if err != nil {
		tab.t.Fatal(err)
	}
	path := filepath.Join("testdata", name+"-"+tab.view.String()+".png")
	if update {
		if err := writePNG(path, got); err != nil {
			tab.t.Fatal(err)
		}
		return
	}
	approved, err := os.ReadFile(path)
	if err != nil {
		tab.t.Errorf("there is no approved picture: run go test ./internal/test/browser -run '%s' -update, and look at what it wrote: %v", tab.t.Name(), err)
		return
	}
	want, err := png.Decode(bytes.NewReader(approved))
	if err != nil {
		tab.t.Fatalf("reading %s: %v", path, err)
	}
	if share := difference(want, got); share > tolerant {
		keepPNG(tab.t, name+"-"+tab.view.String(), taken)
		tab.t.Errorf("%.1f %% of the page differ from %s, want at most %.0f %%; when it looks right, approve it by -update", 100*share, path, 100*tolerant)
	}
}

// reduce is a picture as it is kept.
func reduce(taken []byte) (image.Image, error) {
	full, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		return nil, fmt.Errorf("reading a picture: %w", err)
	}
	size := full.Bounds().Size().Div(reduced)
	small := image.NewRGBA(image.Rectangle{Max: size})
	draw.BiLinear.Scale(small, small.Bounds(), full, full.Bounds(), draw.Src, nil)
	return small, nil
}

func writePNG(path string, picture image.Image) error {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, picture); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// difference is the share of the squares of a picture that neither the same square
// nor one beside it in the other picture is like. It is 1 when their sizes differ.
func difference(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 1
	}
	x, y := cells(a), cells(b)
	most := max(unlike(x, y), unlike(y, x))
	return float64(most) / float64(x.Rect.Dx()*x.Rect.Dy())
}

// cells are the mean colours of the squares of a picture.
func cells(p image.Image) *image.RGBA {
	size := p.Bounds().Size()
	means := image.NewRGBA(image.Rect(0, 0, (size.X+cell-1)/cell, (size.Y+cell-1)/cell))
	draw.BiLinear.Scale(means, means.Bounds(), p, p.Bounds(), draw.Src, nil)
	return means
}

func unlike(a, b *image.RGBA) (n int) {
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			like := false
			for around := range 9 {
				at := image.Pt(x+around%3-1, y+around/3-1)
				like = like || at.In(b.Rect) && near(a.RGBAAt(x, y), b.RGBAAt(at.X, at.Y))
			}
			if !like {
				n++
			}
		}
	}
	return n
}

func near(a, b color.RGBA) bool {
	return apart(a.R, b.R) <= shade && apart(a.G, b.G) <= shade && apart(a.B, b.B) <= shade
}

func apart(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }

// Keep writes a picture of the tab into the folder that LEGWORK_PICTURES names; without
// it, nowhere.
func (tab *Tab) Keep(name string) {
	if os.Getenv("LEGWORK_PICTURES") != "" {
		tab.keep(name)
	}
}
