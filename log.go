package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"breakwater/db"
	"breakwater/proxy/logfile"
)

// logger writes to the standard error stream and to the log of the data
// folder: nobody sees what a tray application writes to the former. Without
// the latter it goes on; end closes it.
func logger(dir string, verbose bool) (log *slog.Logger, end func()) {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		opts.Level = slog.LevelDebug
	}
	terminal := slog.NewTextHandler(os.Stderr, opts)
	file, err := logfile.Open(filepath.Join(dir, db.LogName))
	if err != nil {
		log = slog.New(terminal)
		log.Warn("no log is kept", "error", err)
		return log, func() {}
	}
	return slog.New(slog.NewMultiHandler(terminal, slog.NewTextHandler(file, opts))), func() { _ = file.Close() } // nothing is written after it
}
