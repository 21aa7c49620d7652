//go:build !linux && !darwin

package fsutil

// Room tells how many bytes people may still write in a directory; here the
// system is not asked.
func Room(string) (free int64, known bool) { return 0, false }

// ignorable drops every error: these systems cannot sync a directory.
func ignorable(error) error { return nil }
