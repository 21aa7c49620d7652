//go:build !linux

package app

// hideProcess does nothing where processes cannot hide.
func hideProcess() error { return nil }
