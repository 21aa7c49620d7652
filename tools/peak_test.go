package tools_test

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// peak runs f and returns by how many bytes the memory that the runtime has
// mapped for objects grew at most.
func peak(f func()) int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	use := func() int64 { metrics.Read(sample); return int64(sample[0].Value.Uint64()) }
	before := use()
	most, done, stopped := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, use())
			case <-done:
				return
			}
		}
	}()
	f()
	close(done)
	<-stopped
	return most - before
}
