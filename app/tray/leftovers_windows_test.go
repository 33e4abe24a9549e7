package tray

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"breakwater/assets"
)

func TestOnlyOurIconFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	ours := filepath.Join(dir, iconFile(assets.TrayIcon("well", true)))
	other := filepath.Join(dir, iconFile([]byte("another program's")))
	for _, path := range []string{ours, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removeIconFiles(dir)
	if _, err := os.Stat(ours); !errors.Is(err, fs.ErrNotExist) {
		t.Error("ours stayed: ", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("another program's is gone: ", err)
	}
}
