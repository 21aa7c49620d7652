package terminal

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"legwork/bot"
	"legwork/internal/failpoint"
)

// maxNames is how many names are tried for a file: a folder with so many of them is not
// meant for more.
const maxNames = 10_000

// save writes the made file of a draft into the folder of the terminal, under a name that
// does not exist yet: name.ext, name-2.ext and so on. It returns the absolute path. A file
// that stands under its name is whole: it is written under another one before, which the
// next try to send the draft removes.
func (t *Terminal) save(d *bot.Draft) (path string, err error) {
	f := d.File
	defer func() {
		if err != nil {
			err = fmt.Errorf("saving %s: %w", f.BaseName(), err)
		}
	}()
	dir, err := filepath.Abs(t.cfg.Dir)
	if err != nil {
		return "", err
	}
	part := filepath.Join(dir, ".legwork-"+cmp.Or(bot.BaseName(d.Mark), rand.Text()))
	_ = os.Remove(part) // of a process that was killed
	if err := writeNew(part, f.Content); err != nil {
		return "", reason(err)
	}
	defer func() { _ = os.Remove(part) }()
	failpoint.Hit("save.written")
	ext := filepath.Ext(f.BaseName())
	base := strings.TrimSuffix(f.BaseName(), ext)
	for n := 1; n <= maxNames; n++ {
		name := base + ext
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		path = filepath.Join(dir, name)
		err := os.Link(part, path)
		if err != nil && !errors.Is(err, fs.ErrExist) { // the file system has no links
			err = writeNew(path, f.Content)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", reason(err)
		}
		failpoint.Hit("save.named")
		return path, nil
	}
	return "", errors.New("every name is taken")
}

// writeNew writes a file that does not exist yet, readable for its owner only. It follows no
// link. After an error nothing of it is left.
func writeNew(path string, content []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
