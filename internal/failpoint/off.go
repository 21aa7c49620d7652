//go:build !failpoints

package failpoint

// Hit marks a moment at which a test may kill the process. Names read like
// "commit.before.replied": what happens, before or after, and to what.
func Hit(name string) {}
