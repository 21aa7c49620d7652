package terminal

import (
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

// save writes a made file into the folder of the terminal, under a name that does not
// exist yet: name.ext, name-2.ext and so on. It returns the absolute path.
func (t *Terminal) save(f *bot.File) (path string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("saving %s: %w", f.BaseName(), err)
		}
	}()
	dir, err := filepath.Abs(t.cfg.Dir)
	if err != nil {
		return "", err
	}
	ext := filepath.Ext(f.BaseName())
	base := strings.TrimSuffix(f.BaseName(), ext)
	for n := 1; n <= maxNames; n++ {
		name := base + ext
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		path = filepath.Join(dir, name)
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", reason(err)
		}
		failpoint.Hit("save.before.write")
		_, err = out.Write(f.Content)
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(path) // the next try writes all of it
			return "", reason(err)
		}
		return path, nil
	}
	return "", errors.New("every name is taken")
}
