package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// When releaseMemory gives memory back.
const (
	memoryCheck = 5 * time.Second
	memoryUsed  = 1 << 20   // bytes allocated since the last release that make another one worth it
	memoryIdle  = 256 << 10 // bytes allocated within memoryCheck that still count as idle
	heapGrowth  = 50        // percent that the heap may grow before it is collected
)

// releaseMemory keeps the heap small and gives memory back to the system when
// work is over, the start of the process included. The runtime alone keeps the
// first megabytes for good.
func releaseMemory(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	ticker := time.NewTicker(memoryCheck)
	defer ticker.Stop()
	var m runtime.MemStats
	for released, before := uint64(0), uint64(0); ; before = m.TotalAlloc {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		runtime.ReadMemStats(&m)
		if m.TotalAlloc-before < memoryIdle && m.TotalAlloc-released > memoryUsed {
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			released = m.TotalAlloc
		}
	}
}
