//go:build !unix

package terminal

import "os"

// notifyResize does nothing: this system has no signal for it.
func notifyResize(chan os.Signal) (stop func()) { return func() {} }
