//go:build unix

package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no file of certificates is refused in words, and holds up nobody.
func TestRootsFromWhatIsNoFile(t *testing.T) {
	for name, c := range map[string]struct {
		put func(path string) error
		why string
	}{
		"a pipe":            {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "a folder, a pipe or a device"},
		"a folder":          {func(path string) error { return os.Mkdir(path, 0o700) }, "a folder, a pipe or a device"},
		"an endless device": {func(path string) error { return os.Symlink("/dev/zero", path) }, "a folder, a pipe or a device"},
		"a huge file":       {func(path string) error { return os.WriteFile(path, make([]byte, maxRoots+1), 0o600) }, "larger than 4 MiB"},
		"an empty file":     {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "no certificate"},
		"a link to itself":  {func(path string) error { return os.Symlink(path, path) }, "cannot be read"},
		"nothing":           {func(string) error { return nil }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "roots.pem")
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := readRoots(path); err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
		})
	}
}
