package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is the longest name of a socket on every Unix: 104 bytes with the final
// zero on macOS (sys/un.h), 108 on Linux (unix(7)).
const maxPath = 103

// reach calls do with a name of dir's socket that is short enough for the system.
// When the real one is too long, it makes a temporary link and removes it afterwards.
func reach(dir string, do func(name string) error) error {
	path := socketPath(dir)
	if len(path) <= maxPath {
		return do(path)
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "lw")
	if err != nil {
		return err
	}
	link := filepath.Join(temp, "d")
	err = os.Symlink(whole, link)
	if err == nil && len(socketPath(link)) > maxPath {
		err = fmt.Errorf("both %s and %s are too long for the name of a socket", path, socketPath(link))
	}
	if err == nil {
		err = do(socketPath(link))
	}
	return errors.Join(err, os.RemoveAll(temp))
}

// socketPath is the socket's path in a directory.
func socketPath(dir string) string { return filepath.Join(dir, SocketName) }
