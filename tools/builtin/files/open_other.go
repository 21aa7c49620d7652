//go:build !unix

package files

import "os"

const nonblock = 0

func unreal(*os.File) bool { return false }
