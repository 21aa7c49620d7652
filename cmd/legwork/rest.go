package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// How rest finds out that the process has nothing to do.
const (
	restLook = 5 * time.Second
	restMade = 1 << 20     // bytes allocated since the last rest that make one worth it
	restCalm = 256 << 10   // bytes allocated within restLook that still count as nothing to do
	restAway = time.Minute // between two times that the program's own code is let go of

	// restGrow is by how many percent the heap may grow before it is collected.
	// It is small, so that often collecting it costs little.
	restGrow = 50
)

// rest keeps the process small: it lets the heap grow by less than usual, and
// gives memory back to the system whenever work has left some behind and
// is over, the start of the process included: the runtime alone keeps the first
// megabytes for good. Code that only the start needs leaves with it.
func rest(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(restGrow)
	}
	ticker := time.NewTicker(restLook)
	defer ticker.Stop()
	var m runtime.MemStats
	var away time.Time // when code was let go of last
	for given, before := uint64(0), uint64(0); ; before = m.TotalAlloc {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		runtime.ReadMemStats(&m)
		if m.TotalAlloc-before >= restCalm {
			continue
		}
		worked := m.TotalAlloc-given > restMade
		if worked {
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			given = m.TotalAlloc
		}
		if worked || time.Since(away) >= restAway {
			away = time.Now()
			_ = restCode() // memory that it could not give back is still the process's
		}
	}
}
