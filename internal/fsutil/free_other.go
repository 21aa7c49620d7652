//go:build !linux && !darwin

package fsutil

// Free does not know the free space on this system.
func Free(string) (free int64, known bool) { return 0, false }

// ignorable drops every error: these systems cannot sync a directory.
func ignorable(error) error { return nil }

// Writable does not know rights on this system.
func Writable(string) error { return nil }

// KeepOwner changes nothing on this system.
func KeepOwner(string, string) {}
