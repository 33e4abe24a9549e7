package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// journal is what was changed, by client. It is on disk before a change is, so
// that a crash in between loses nothing.
type journal map[string]note

type note struct {
	Path   string   `json:"path"`
	Made   bool     `json:"made,omitempty"`   // the file was not there before
	Backup string   `json:"backup,omitempty"` // the copy of the former file
	Sum    string   `json:"sum"`              // of the file as it was left
	Edits  []change `json:"edits"`
}

// change is one value before and after, raw.
type change struct {
	Key    string `json:"key"`
	Had    bool   `json:"had,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}

func (s Setup) file() string { return filepath.Join(s.Dir, "clients.json") }

// read returns the journal; one that cannot be read is as good as none.
func (s Setup) read() journal {
	notes := journal{}
	b, err := os.ReadFile(s.file())
	if err != nil || json.Unmarshal(b, &notes) != nil {
		return journal{}
	}
	return notes
}

func (s Setup) write(notes journal) error {
	if len(notes) == 0 {
		err := os.Remove(s.file())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	b, err := json.MarshalIndent(notes, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(s.file(), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("note down the change: %w", err)
	}
	return nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
