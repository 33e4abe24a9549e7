package metrics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheProcessIsTold(t *testing.T) {
	p := &page{}
	process(p)
	for _, name := range []string{"go_goroutines ", "go_memstats_heap_alloc_bytes ", "go_info{", "process_start_time_seconds "} {
		if !strings.Contains(p.String(), "\n"+name) {
			t.Errorf("no %s in %s", name, p)
		}
	}
}

// What Linux writes into /proc, with a name that looks like more fields.
func TestFilesOfAProcess(t *testing.T) {
	dir := t.TempDir()
	stat := "42 (a) 1 (b) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 9 0 12345 1048576 3 18446744073709551615 1 1"
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fd := range []string{"0", "1", "2"} {
		if err := os.MkdirAll(filepath.Join(dir, "fd", fd), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := &page{}
	system(p, dir)
	for _, line := range []string{"process_cpu_seconds_total 2", "process_virtual_memory_bytes 1.048576e+06", "process_open_fds 3"} {
		if !strings.Contains(p.String(), "\n"+line+"\n") {
			t.Errorf("no %q in %s", line, p)
		}
	}
	if p := (&page{}); func() bool { system(p, filepath.Join(dir, "none")); return p.Len() > 0 }() {
		t.Errorf("told without files: %s", p)
	}
}
