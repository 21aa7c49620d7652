package telemetry

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"

	"legwork/telemetry/prom"
)

// process tells of the process and of Go's runtime, under the names that
// dashboards know.
type process struct {
	goroutines, threads, heap, sys, heapGoal, info *prom.Gauge
	cycles, allocated                              *reading
	cpu                                            *reading
	resident, virtual, open, most                  *prom.Gauge
}

// reading is a counter that somebody else counts.
type reading struct {
	counter *prom.Counter
	last    float64
}

func (r *reading) set(v float64) {
	r.counter.Add(v - r.last)
	r.last = max(v, r.last)
}

func newProcess(r *prom.Registry) process {
	counter := func(name, help string) *reading { return &reading{counter: r.Counter(name, help)} }
	p := process{
		goroutines: r.Gauge("go_goroutines", "Goroutines that exist."),
		threads:    r.Gauge("go_sched_gomaxprocs_threads", "How many threads may run Go code at once."),
		heap:       r.Gauge("go_memstats_heap_alloc_bytes", "Memory of objects, live or not yet swept."),
		sys:        r.Gauge("go_memstats_sys_bytes", "Memory that the runtime has from the system."),
		heapGoal:   r.Gauge("go_gc_heap_goal_bytes", "Size of the heap at which the next garbage collection ends."),
		info:       r.Gauge("go_info", "Always 1; the label says which Go built the program.", "version"),
		cycles:     counter("go_gc_cycles_total", "Garbage collections."),
		allocated:  counter("go_memstats_alloc_bytes_total", "Memory of all objects that ever were."),
		cpu:        counter("process_cpu_seconds_total", "Time on processors, of the program and of the system for it."),
		resident:   r.Gauge("process_resident_memory_bytes", "Memory that is in RAM."),
		virtual:    r.Gauge("process_virtual_memory_bytes", "Addresses in use."),
		open:       r.Gauge("process_open_fds", "Open file descriptors."),
		most:       r.Gauge("process_max_fds", "How many file descriptors may be open."),
	}
	p.info.Set(1, runtime.Version())
	return p
}

// look reads everything anew. What the system does not tell stays at zero.
func (p *process) look() {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/sched/gomaxprocs:threads"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/heap/goal:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	sets := []func(float64){
		func(v float64) { p.goroutines.Set(v) }, func(v float64) { p.threads.Set(v) }, func(v float64) { p.heap.Set(v) },
		func(v float64) { p.sys.Set(v) }, func(v float64) { p.heapGoal.Set(v) }, p.cycles.set, p.allocated.set,
	}
	for i, set := range sets {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			set(float64(samples[i].Value.Uint64()))
		}
	}
	p.memory()
	p.files()
	p.cpu.set(cpuSeconds())
}

// memory reads /proc, where there is one.
func (p *process) memory() {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return
	}
	pages := strings.Fields(string(raw))
	for i, g := range []*prom.Gauge{p.virtual, p.resident} {
		if i < len(pages) {
			if n, err := strconv.ParseFloat(pages[i], 64); err == nil {
				g.Set(n * float64(os.Getpagesize()))
			}
		}
	}
}

func (p *process) files() {
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := dir.Readdirnames(-1) // of those that were read, the number counts
		_ = dir.Close()
		p.open.Set(float64(max(0, len(names)-1))) // without the one to look
	}
	if n := fileLimit(); n > 0 {
		p.most.Set(n)
	}
}
