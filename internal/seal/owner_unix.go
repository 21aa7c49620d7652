//go:build unix

package seal

import (
	"os"
	"syscall"
)

// ownerOf is the user who owns a file.
func ownerOf(info os.FileInfo) (user int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
