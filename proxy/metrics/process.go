package metrics

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// started is when the process began, as nearly as it knows.
var started = time.Now()

// process writes what Prometheus's own libraries tell of a Go program, under
// their names: the usual dashboards find it. Files and memory of the system are
// told where it says them without a call of its own kind.
func process(p *page) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.single("go_goroutines", "gauge", "Goroutines that exist now.", float64(runtime.NumGoroutine()))
	p.family("go_info", "gauge", "The Go version that the program was built with.")
	p.sample("go_info", 1, "version", runtime.Version())
	p.single("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap that are in use.", float64(m.HeapAlloc))
	p.single("go_memstats_heap_sys_bytes", "gauge", "Bytes of the heap that came from the system.", float64(m.HeapSys))
	p.single("go_memstats_sys_bytes", "gauge", "Bytes that came from the system.", float64(m.Sys))
	p.single("go_memstats_mallocs_total", "counter", "Objects allocated so far.", float64(m.Mallocs))
	p.single("go_gc_cycles_total", "counter", "Garbage collections so far.", float64(m.NumGC))
	p.single("process_start_time_seconds", "gauge", "When the process began, in Unix time.", float64(started.UnixMilli())/1000)
	system(p, "/proc/self")
}

// clockTicks is the unit of the times in /proc on every Linux that Go runs on.
const clockTicks = 100

// system adds what Linux tells in the files of a process.
func system(p *page, dir string) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return // another system
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, kernel, virtual, resident = 11, 12, 20, 21 // counted from the state, the first behind the name
	at := func(i int) float64 {
		if i >= len(fields) {
			return 0
		}
		v, _ := strconv.ParseFloat(string(fields[i]), 64) // 0 for what is no number
		return v
	}
	p.single("process_cpu_seconds_total", "counter", "Time on a processor.", (at(user)+at(kernel))/clockTicks)
	p.single("process_virtual_memory_bytes", "gauge", "Virtual memory.", at(virtual))
	p.single("process_resident_memory_bytes", "gauge", "Resident memory.", at(resident)*float64(os.Getpagesize()))
	if open, err := os.ReadDir(filepath.Join(dir, "fd")); err == nil {
		p.single("process_open_fds", "gauge", "Open file descriptors.", float64(len(open)))
	}
}
