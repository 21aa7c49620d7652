package terminal

import "golang.org/x/sys/unix"

// typedAhead is how many bytes wait to be read.
func typedAhead(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
