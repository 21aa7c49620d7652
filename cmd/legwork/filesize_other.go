//go:build !unix

package main

// surviveFileLimit does nothing where no such limit exists.
func surviveFileLimit() {}
