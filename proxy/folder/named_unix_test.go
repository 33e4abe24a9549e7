//go:build unix

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What lies in a file's place holds nobody up, whether a user named it or it is
// one of a data folder.
func TestWhatIsNoPlainFile(t *testing.T) {
	const limit = 1 << 20
	for name, c := range map[string]struct {
		put  func(path string) error
		want error
	}{
		"a pipe":              {func(path string) error { return syscall.Mkfifo(path, 0o600) }, ErrNotPlain},
		"a folder":            {func(path string) error { return os.Mkdir(path, 0o700) }, ErrNotPlain},
		"an endless device":   {func(path string) error { return os.Symlink("/dev/zero", path) }, ErrNotPlain},
		"a terminal":          {func(path string) error { return os.Symlink("/dev/tty", path) }, ErrNotPlain},
		"a link to itself":    {func(path string) error { return os.Symlink(path, path) }, syscall.ELOOP},
		"a huge file":         {huge, ErrTooLarge},
		"a folder with a dot": {func(path string) error { return os.Symlink(".", path) }, ErrNotPlain},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadNamed(t.Context(), path, limit); !errors.Is(err, c.want) {
				t.Errorf("named: %v", err)
			}
			if _, err := Read(path); err == nil {
				t.Error("Read takes it")
			}
		})
	}
	t.Run("a link to a file", func(t *testing.T) {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "real"), []byte("x"), 0o600), os.Symlink("real", filepath.Join(dir, "file"))); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadNamed(t.Context(), filepath.Join(dir, "file"), limit); err != nil || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// huge makes a file of a terabyte without a byte in it.
func huge(path string) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, 1<<40)
}
