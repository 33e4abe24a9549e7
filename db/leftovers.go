package db

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"breakwater/proxy/folder"
)

// trialSuffix is in the name of the file with which tryToWrite looks for space.
const trialSuffix = ".trial"

// halfWritten are the files that had not yet been renamed when the program was
// killed: those of writePrivate, which may hold secrets, encrypted or the key to
// them, and copies of the database.
var halfWritten = regexp.MustCompile(`^(` + regexp.QuoteMeta(secretsFile) + `|` + regexp.QuoteMeta(keyFile) + `|` +
	regexp.QuoteMeta(choiceFile) + `|instance\.addr|` + regexp.QuoteMeta(FileName) + `(\.seal|` + regexp.QuoteMeta(trialSuffix) + `))\.[0-9]+\.tmp$|^` +
	regexp.QuoteMeta(FileName) + `(` + regexp.QuoteMeta(halfSuffix) + `|` + regexp.QuoteMeta(restoredSuffix) + `(-wal|-shm|-journal)?)$`)

// removeLeftovers deletes what a killed program left half written in its data
// directory. Only the program that has claimed the directory may do so. A file
// that stays does no harm to the start, so that an error is only logged.
func removeLeftovers(ctx context.Context, dir string, log *slog.Logger) {
	// The command line may be writing a file of these names just now.
	unlock, err := folder.Lock(ctx, dir)
	if err != nil {
		log.Warn("files that were left half written stay", "error", err)
		return
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // opening the database says it better
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !halfWritten.MatchString(name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			log.Warn("a file that was left half written stays", "file", name, "error", err)
			continue
		}
		log.Info("removed a file that was left half written", "file", name)
	}
}
