package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// journal is what was changed, by client. It is on disk before a change is, so
// that a crash in between loses nothing.
type journal map[string]note

// note is one client's settings file before and after.
type note struct {
	Link    string   `json:"link"`              // where the client looks for it
	Path    string   `json:"path"`              // the file behind links
	Made    bool     `json:"made,omitempty"`    // the file was not there before
	MadeDir string   `json:"madeDir,omitempty"` // the topmost folder made for it
	Copy    string   `json:"copy,omitempty"`    // name of the copy in the data folder, or a path beside the file (version 1)
	Before  string   `json:"before,omitempty"`  // digest of the former file; empty when unknown
	After   string   `json:"after"`             // digest of the file as it was left
	Edits   []change `json:"edits"`
	Steps   []step   `json:"steps,omitempty"`
	Former  *note    `json:"former,omitempty"` // what held until this one is on disk
	Below   *note    `json:"below,omitempty"`  // ours from before another Breakwater wrote over it
}

// change is one value: ours, and what stood there, as it was written.
type change struct {
	Key     path   `json:"key"`
	Value   string `json:"value"`
	Had     bool   `json:"had,omitempty"`
	Old     string `json:"old,omitempty"`
	Secret  string `json:"secret,omitempty"`  // the secret store's name of Old
	Made    int    `json:"made,omitempty"`    // the first part of Key that was made for it, 0 for none
	Address bool   `json:"address,omitempty"` // the value is where the client is pointed at
}

// errDamaged means that the record cannot be trusted. Nothing is written then:
// an edit without it could not be undone, and an undo would be guesswork.
var errDamaged = errors.New("Breakwater's record of what it changed (clients.json in its data folder) is damaged, so nothing is written")

const journalVersion = 2

type journalFile struct {
	Version int             `json:"version"`
	Sum     string          `json:"sum"`
	Agents  json.RawMessage `json:"agents"`
}

func (s Setup) file() string { return filepath.Join(s.Dir, "clients.json") }

// read returns the journal: empty when there is none, errDamaged when it cannot
// be trusted.
func (s Setup) read() (journal, error) {
	b, err := readAtMost(s.file(), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return journal{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", errDamaged, err)
	}
	var f journalFile
	if json.Unmarshal(b, &f) != nil {
		return nil, errDamaged
	}
	if f.Version == 0 {
		return readFirst(b)
	}
	if f.Version != journalVersion {
		return nil, fmt.Errorf("%w (version %d is newer than this program)", errDamaged, f.Version)
	}
	notes := journal{}
	if sum(compact(f.Agents)) != f.Sum || json.Unmarshal(f.Agents, &notes) != nil {
		return nil, errDamaged
	}
	return notes, notes.check()
}

// check refuses notes that lack what an undo needs.
func (j journal) check() error {
	for _, n := range j {
		if !n.whole() {
			return errDamaged
		}
	}
	return nil
}

func (n *note) whole() bool {
	if n == nil {
		return true
	}
	if n.Link == "" || n.Path == "" || n.After == "" || len(n.Edits) == 0 {
		return false
	}
	for _, e := range n.Edits {
		if len(e.Key) == 0 || e.Made < 0 || e.Made >= len(e.Key) {
			return false
		}
	}
	return n.Former.whole() && n.Below.whole()
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

func (s Setup) write(notes journal) error {
	if len(notes) == 0 {
		err := os.Remove(s.file())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	raw, err := json.Marshal(notes)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(journalFile{journalVersion, sum(compact(raw)), raw}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeWhole(s.file(), append(b, '\n')); err != nil {
		return fmt.Errorf("record the change: %w", err)
	}
	return nil
}

// firstNote is a note of version 1: raw values are JSON texts or whole lines,
// and the copy lies beside the file.
type firstNote struct {
	Path   string `json:"path"`
	Made   bool   `json:"made"`
	Backup string `json:"backup"`
	Sum    string `json:"sum"`
	Edits  []struct {
		Key    string `json:"key"`
		Had    bool   `json:"had"`
		Before string `json:"before"`
		After  string `json:"after"`
	} `json:"edits"`
}

func readFirst(b []byte) (journal, error) {
	var first map[string]firstNote
	if json.Unmarshal(b, &first) != nil {
		return nil, errDamaged
	}
	out := journal{}
	for id, f := range first {
		n := note{Link: f.Path, Path: f.Path, Made: f.Made, Copy: f.Backup, After: f.Sum}
		for _, e := range f.Edits {
			ch := change{Key: strings.Split(e.Key, "."), Had: e.Had, Old: afterSign(e.Before), Value: plainOf(afterSign(e.After))}
			last := ch.Key[len(ch.Key)-1]
			ch.Address = strings.Contains(strings.ToLower(last), "base")
			if !e.Had && len(ch.Key) > 1 {
				ch.Made = 1
			}
			n.Edits = append(n.Edits, ch)
		}
		out[id] = n
	}
	return out, out.check()
}

// afterSign returns the value of a whole line; a JSON text begins with one.
func afterSign(line string) string {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line[:1], `"{[`) {
		return line
	}
	if at := strings.IndexAny(line, "=:"); at > 0 {
		return strings.TrimSpace(line[at+1:])
	}
	return line
}

func plainOf(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw
	}
	return s
}

// Lock keeps other processes out of a data folder's record and copies until the
// returned function is called.
type Lock func() (unlock func(), err error)

var inProcess sync.Map // data folder → *sync.Mutex

// lockWait is how long another process may hold the record.
const lockWait = 10 * time.Second

// lock takes the lock of the data folder.
func (s Setup) lock() (func(), error) {
	if s.Lock != nil {
		return s.Lock()
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	m, _ := inProcess.LoadOrStore(s.Dir, &sync.Mutex{})
	mu := m.(*sync.Mutex)
	mu.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	l := flock.New(filepath.Join(s.Dir, "clients.lock"))
	if ok, err := l.TryLockContext(ctx, 20*time.Millisecond); !ok {
		mu.Unlock()
		return nil, errors.Join(errors.New("another Breakwater is changing these settings; try again"), err)
	}
	return func() { _ = l.Unlock(); mu.Unlock() }, nil
}
