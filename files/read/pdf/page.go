package pdf

import "fmt"

// pageTree is the list of pages as far as it was walked. A page is found without
// walking the tree behind it.
type pageTree struct {
	pages   []dict
	stack   []branch
	seen    map[int]bool
	started bool
}

type branch struct {
	kids      array
	inherited dict
}

// inherited are the entries that pages take from the tree above them.
var inherited = [...]name{"Resources", "MediaBox", "CropBox", "Rotate"}

// Pages is the number of pages that the file says it has.
func (f *File) Pages() (n int) {
	defer func() {
		if recover() != nil {
			n = 0
		}
	}()
	return max(toInt(f.resolve(f.root()["Count"])), 0)
}

// page returns a page by its number from 0; nil after the last.
func (f *File) page(n int) dict {
	t := f.pages
	if !t.started {
		t.started, t.seen = true, map[int]bool{}
		root := f.root()
		t.push(f, root, dict{})
		if root["Kids"] == nil && root["Contents"] != nil {
			t.pages = append(t.pages, root)
		}
	}
	for len(t.pages) <= n && len(t.stack) > 0 {
		top := &t.stack[len(t.stack)-1]
		if len(top.kids) == 0 {
			t.stack = t.stack[:len(t.stack)-1]
			continue
		}
		kid := top.kids[0]
		above := top.inherited
		top.kids = top.kids[1:]
		if r, ok := kid.(ref); ok {
			if t.seen[r.number] {
				continue
			}
			t.seen[r.number] = true
		}
		d, ok := f.dict(kid)
		switch {
		case !ok:
			t.pages = append(t.pages, dict{})
		case d["Kids"] != nil && d["Type"] != name("Page"):
			if len(t.stack) < maxDepth {
				t.push(f, d, above)
			}
		default:
			t.pages = append(t.pages, inherit(d, above))
		}
	}
	if n < len(t.pages) {
		return t.pages[n]
	}
	return nil
}

func (t *pageTree) push(f *File, d, above dict) {
	t.stack = append(t.stack, branch{f.array(d["Kids"]), inherit(d, above)})
}

// inherit adds what an object takes from above.
func inherit(d, above dict) dict {
	out := dict{}
	for k, v := range d {
		out[k] = v
	}
	for _, k := range inherited {
		if out[k] == nil && above[k] != nil {
			out[k] = above[k]
		}
	}
	return out
}

// Page is the contents of a page.
type Page struct {
	Text  string
	Image *Image // the largest picture; nil when there is none
}

// Page reads a page by its number from 0. ok is false after the last one. Of a page that
// is damaged it returns what comes before the damage.
func (f *File) Page(n int) (p Page, ok bool, err error) {
	i := &interpreter{f: f}
	defer func() {
		if r := recover(); r != nil {
			ok, err = true, asError(r)
		}
		p.Text, p.Image = i.out.String(), i.image
	}()
	d := f.page(n)
	if d == nil {
		return p, false, nil
	}
	if len(d) == 0 {
		return p, true, fmt.Errorf("%w: page %d is missing", ErrDamaged, n+1)
	}
	resources, _ := f.dict(d["Resources"])
	var content []byte
	for _, o := range f.list(d, "Contents", "") {
		if s, ok := f.resolve(o).(*stream); ok {
			content = append(append(content, f.unpack(s)...), '\n')
		}
	}
	i.turn = ((toInt(f.resolve(d["Rotate"]))%360 + 360) % 360) / 90
	i.state.matrix, i.state.scale = identity, 1
	i.run(content, resources, 0)
	return p, true, nil
}
