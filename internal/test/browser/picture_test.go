package browser

import (
	"image"
	"image/color"
	"image/draw"
	"testing"
)

// drawn paints cards with lines of text as a page has them, moved by some pixels.
func drawn(moved int, dark bool, cards ...image.Rectangle) *image.RGBA {
	ground, ink := color.Gray{250}, color.Gray{40}
	if dark {
		ground, ink = ink, ground
	}
	p := image.NewRGBA(image.Rect(0, 0, 720, 450))
	draw.Draw(p, p.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
	for _, card := range cards {
		for y := card.Min.Y + 8; y < card.Max.Y-8; y += 10 {
			for x := card.Min.X + 8; x < card.Max.X-8; x += 6 { // words of dots
				draw.Draw(p, image.Rect(x+moved, y+moved, x+moved+3, y+moved+5), image.NewUniform(ink), image.Point{}, draw.Src)
			}
		}
	}
	return p
}

func TestDifference(t *testing.T) {
	left, right, small := image.Rect(20, 20, 340, 400), image.Rect(380, 20, 700, 200), image.Rect(380, 220, 600, 280)
	whole := drawn(0, false, left, right, small)
	for _, c := range []struct {
		name string
		got  image.Image
		same bool
	}{
		{"itself", whole, true},
		{"moved by two pixels, as by another font", drawn(2, false, left, right, small), true},
		{"a small card is missing", drawn(0, false, left, right), false},
		{"a card is elsewhere", drawn(0, false, left, right, small.Add(image.Pt(0, 80))), false},
		{"another theme", drawn(0, true, left, right, small), false},
		{"nothing", drawn(0, false), false},
		{"another size", image.NewRGBA(image.Rect(0, 0, 700, 450)), false},
	} {
		if got := difference(whole, c.got); (got <= tolerant) != c.same {
			t.Errorf("%s: %.2f %% differ, want at most %.2f %%: %v", c.name, 100*got, 100*tolerant, c.same)
		}
	}
}
