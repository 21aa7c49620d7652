package files

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// tree is the folder of a caller. Without a root it is empty.
type tree struct{ root *os.Root }

func newTree(root *os.Root) (*tree, error) {
	t := &tree{root}
	d, err := t.dir(".")
	if err != nil {
		t.close()
		return nil, err
	}
	d.Close()
	return t, nil
}

func (t *tree) close() {
	if t.root != nil {
		_ = t.root.Close()
	}
}

func (t *tree) lstat(name string) (fs.FileInfo, error) {
	if t.root == nil {
		return nil, fs.ErrNotExist
	}
	return t.root.Lstat(name)
}

// file opens a file for reading. Opening never waits: it opens only regular
// files, and notices a pipe that has taken a file's place meanwhile.
func (t *tree) file(name string) (*os.File, fs.FileInfo, error) {
	f, info, err := t.open(name, func(m fs.FileMode) error {
		switch {
		case m.IsRegular():
			return nil
		case m.IsDir():
			return errors.New("it is a folder; list it, or name a file")
		}
		return errNotFile
	})
	return f, info, err
}

// dir opens a folder.
func (t *tree) dir(name string) (*os.File, error) {
	f, _, err := t.open(name, func(m fs.FileMode) error {
		if !m.IsDir() {
			return errors.New("it is not a folder")
		}
		return nil
	})
	return f, err
}

func (t *tree) open(name string, fit func(fs.FileMode) error) (*os.File, fs.FileInfo, error) {
	if t.root == nil {
		return nil, nil, fs.ErrNotExist
	}
	info, err := t.root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := fit(info.Mode()); err != nil {
		return nil, nil, err
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = fit(info.Mode())
	}
	if err == nil && isKernelFS(f) {
		err = errKernelFS
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// bounds are the most that a walk looks at.
type bounds struct {
	depth   int // levels of folders
	entries int // of one folder
	total   int // entries of all folders
}

// walkBounds bounds what tools for models look at.
func walkBounds(depth int) bounds { return bounds{depth, 10000, 100000} }

// errStopWalk ends a walk early.
var errStopWalk = errors.New("enough")

// walk visits what is in a folder and in the folders in it, by name;
// half-written files are left out. Links are visited, never
// followed. What vanishes or cannot be read on the way is passed over. more
// tells that not everything was visited.
func (t *tree) walk(ctx context.Context, dir string, b bounds, visit func(name string, info fs.FileInfo) error) (more bool, err error) {
	return t.walkAll(ctx, dir, b, func(name string, info fs.FileInfo) error {
		if strings.HasPrefix(info.Name(), tempPrefix) {
			return nil
		}
		return visit(name, info)
	})
}

// walkAll is walk over everything there is.
func (t *tree) walkAll(ctx context.Context, top string, b bounds, visit func(name string, info fs.FileInfo) error) (more bool, err error) {
	seen := 0
	var down func(dir string, left int) error
	down = func(dir string, left int) error {
		infos, cut, err := t.entries(dir, b.entries)
		if err != nil && left < b.depth {
			more = true
			return nil
		} else if err != nil {
			return err
		}
		more = more || cut
		for _, info := range infos {
			if seen++; seen > b.total {
				return errStopWalk
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			name := path.Join(dir, info.Name())
			if err := visit(name, info); err != nil {
				return err
			}
			if !info.IsDir() || left <= 1 {
				continue
			}
			if err := down(name, left-1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := down(top, b.depth); !errors.Is(err, errStopWalk) {
		return more, err
	}
	return true, nil
}

// entries are the contents of a folder by name, at most so many; cut tells that
// there are more.
func (t *tree) entries(dir string, most int) (infos []fs.FileInfo, cut bool, err error) {
	d, err := t.dir(dir)
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	list, err := d.Readdir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if cut = len(list) > most; cut {
		list = list[:most]
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, cut, nil
}
