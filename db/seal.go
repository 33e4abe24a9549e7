package db

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// sealLimit is the file size in bytes up to which the seal covers every byte;
// above it reading the whole file would slow the start.
const sealLimit = 256 << 20

// seal describes the file as the last clean stop left it. SQLite has no
// checksums: bytes overwritten in the middle of a page go unnoticed by its own
// checks when they hit free space or a text. Checking a seal is also much
// cheaper than SQLite's check.
type seal struct {
	Size int64 `json:"size"`
	// Changes is SQLite's own change counter (file header, offset 24). The file
	// is at rest in rollback mode, in which every honest write moves it.
	Changes uint32 `json:"changes"`
	Sum     uint32 `json:"crc32c,omitempty"`
}

func sealPath(path string) string { return path + ".seal" }

// takeSeal reads the file and describes it.
func takeSeal(path string) (seal, error) {
	f, err := os.Open(path)
	if err != nil {
		return seal{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return seal{}, err
	}
	s := seal{Size: info.Size()}
	var header [28]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return seal{}, err
	}
	s.Changes = binary.BigEndian.Uint32(header[24:])
	if s.Size > sealLimit {
		return s, nil
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	sum.Write(header[:])
	// The hash hides ReadFrom and the file WriteTo, so that the buffer is used.
	buf := make([]byte, 64<<10)
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{f}, buf); err != nil {
		return seal{}, err
	}
	s.Sum = sum.Sum32()
	return s, nil
}

func writeSeal(path string) error {
	s, err := takeSeal(path)
	if err != nil {
		return err
	}
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writePrivate(sealPath(path), content)
}

// readSeal returns the stored seal; ok is false when the last stop was not
// clean, or the seal itself cannot be read.
func readSeal(path string) (s seal, ok bool) {
	content, err := os.ReadFile(sealPath(path))
	if err != nil {
		return seal{}, false
	}
	return s, json.Unmarshal(content, &s) == nil
}

// removeSeal makes sure that no seal outlives the state it describes, not even
// over a power cut.
func removeSeal(path string) error {
	err := os.Remove(sealPath(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("remove the database seal: %w", err)
	}
	return nil
}
