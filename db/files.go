package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"breakwater/proxy/folder"
)

// DefaultDir returns the data directory by the platform's convention:
// $XDG_DATA_HOME/breakwater or ~/.local/share/breakwater,
// ~/Library/Application Support/Breakwater, %LOCALAPPDATA%\Breakwater.
func DefaultDir() (string, error) { return defaultDir(runtime.GOOS, os.Getenv, os.UserHomeDir) }

func defaultDir(system string, env func(string) string, home func() (string, error)) (string, error) {
	switch system {
	case "windows":
		if dir := env("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, "Breakwater"), nil
		}
	case "darwin":
	default:
		// The XDG rules say that a relative path is to be ignored.
		if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "breakwater"), nil
		}
	}
	dir, err := home()
	if err != nil {
		return "", fmt.Errorf("no data directory: %w", err)
	}
	switch system {
	case "windows":
		return filepath.Join(dir, "AppData", "Local", "Breakwater"), nil
	case "darwin":
		return filepath.Join(dir, "Library", "Application Support", "Breakwater"), nil
	}
	return filepath.Join(dir, ".local", "share", "breakwater"), nil
}

// touchPrivate makes an empty file that only its owner can read.
func touchPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// temporary is the pattern of the names under which a file is written before it
// takes its place.
func temporary(name string) string { return folder.Temporary(name) }

// writePrivate replaces a file in one step: it has the old content or the new
// one after a crash, never half of either.
func writePrivate(path string, content []byte) error { return folder.Write(path, content) }

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir makes a rename or removal in dir survive a power cut. Windows knows
// no such call and needs none.
func syncDir(dir string) error { return folder.SyncDir(dir) }

// DemoDir is the folder inside the data directory that --demo keeps to.
const DemoDir = "demo"
