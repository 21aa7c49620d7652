//go:build !linux

package clock

import "time"

func since() func() time.Duration { return monotonic() }
