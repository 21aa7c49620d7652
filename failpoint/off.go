//go:build !failpoints

package failpoint

// Hit marks a moment at which a test may kill the process. Names read like
// "commit.before.replied": what happens, before or after, and to what.
func Hit(name string) {}

// Fault reports whether a test planted the named fault: code asks it where it
// then does the wrong thing on purpose. It is always false in a release.
func Fault(name string) bool { return false }
