package db

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// tighten takes the rights of others from our files in a data directory, and
// from the directory where it holds nothing else: it may be one that the user
// shares on purpose. It returns how many were open to others; a new folder that
// holds nothing yet does not count.
func tighten(dir string, log *slog.Logger) (open int) {
	entries, err := os.ReadDir(dir)
	if err != nil || runtime.GOOS == "windows" {
		return 0
	}
	alone := true
	for _, e := range entries {
		switch {
		case e.Type().IsRegular() && isOurs(e.Name()):
			open += tightenOne(filepath.Join(dir, e.Name()), 0o600, log)
		case !e.IsDir() || e.Name() != DemoDir:
			alone = false
		}
	}
	if alone {
		n := tightenOne(dir, 0o700, log)
		if len(entries) > 0 {
			open += n
		}
	}
	return open
}

// tightenOne leaves a path to its owner; it returns 1 where it was open to
// others and no longer is.
func tightenOne(path string, most os.FileMode, log *slog.Logger) int {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&^most&0o077 == 0 {
		return 0
	}
	if err := os.Chmod(path, info.Mode().Perm()&most); err != nil {
		log.Warn("others can read this, and its rights cannot be changed", "path", path, "error", err)
		return 0
	}
	log.Warn("others could read this; it is for its owner alone now", "path", path, "rights", info.Mode().Perm())
	return 1
}
