package proxy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"breakwater/proxy/folder"
)

func TestInstance(t *testing.T) {
	t.Run("P52 an address that cannot be written leaves no old one", func(t *testing.T) {
		dir := t.TempDir()
		i, err := Claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Publish("http://127.0.0.1:7411"); err != nil {
			t.Fatal(err)
		}
		if url, err := Address(dir); err != nil || url != "http://127.0.0.1:7411" {
			t.Fatal(url, err)
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, folder.LockName)), os.Mkdir(filepath.Join(dir, folder.LockName), 0o700)); err != nil { // stands in its way
			t.Fatal(err)
		}
		if err := i.Publish("http://127.0.0.1:7412"); err == nil {
			t.Error("no error")
		}
		if url, err := Address(dir); err == nil {
			t.Errorf("%s is told, where nobody answers", url)
		}
		if err := i.Release(); err != nil {
			t.Error(err)
		}
	})
}
