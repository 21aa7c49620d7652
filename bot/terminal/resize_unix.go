//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize tells ch when the screen gets another size, until stop.
func notifyResize(ch chan os.Signal) (stop func()) {
	signal.Notify(ch, syscall.SIGWINCH)
	return func() { signal.Stop(ch) }
}
