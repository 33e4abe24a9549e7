package storage

import (
	"os"
	"syscall"
	"testing"
)

// disk puts the data folder on a disk of its own of 8 MiB.
func disk(t *testing.T, p *program) {
	t.Helper()
	if err := syscall.Mount("tmpfs", p.data, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skip("no disk can be mounted here: ", err)
	}
	t.Cleanup(func() {
		p.stop(syscall.SIGKILL)
		if err := syscall.Unmount(p.data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(p.data, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
}
