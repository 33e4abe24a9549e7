package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Setup edits the settings of the clients of one user.
type Setup struct {
	// Dir is Breakwater's data folder, where what was changed is noted down
	// before it is changed.
	Dir string
	// Home is the user's folder; Getenv looks variables up that move a client's
	// settings elsewhere.
	Home   string
	Getenv func(string) string
}

// State tells how a client stands.
type State string

// The states of a client's settings.
const (
	StateNone    State = "none"    // not set up by Breakwater
	StateSet     State = "set"     // as Breakwater left it
	StateChanged State = "changed" // set up, and changed since by somebody else
)

// Plan is what setting a client up would do.
type Plan struct {
	ID, Name string
	Path     string
	Exists   bool     // the file is there, so a backup will be made
	Lines    []string // what will stand in it, one value each
	State    State
	Problem  string // why it cannot be done, in words for a person
}

// Plans returns what can be done for every client.
func (s Setup) Plans(t Target) []Plan {
	notes := s.read()
	out := make([]Plan, len(clients))
	for i, c := range clients {
		out[i] = s.plan(c, t, notes)
	}
	return out
}

func (s Setup) plan(c client, t Target, notes journal) Plan {
	p := Plan{ID: c.id, Name: c.name, Path: c.path(s.Home, s.Getenv), State: StateNone}
	text, err := os.ReadFile(p.Path)
	p.Exists = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Problem = err.Error()
	}
	doc, err := c.open(text)
	if err != nil {
		p.Problem = err.Error()
		doc, _ = c.open(nil)
	}
	if n, ok := notes[c.id]; ok {
		p.Path, p.State = n.Path, StateSet
		for _, e := range n.Edits {
			if raw, _, _ := doc.get(e.Key); raw != e.After {
				p.State = StateChanged
			}
		}
	}
	for _, e := range c.edits(t, plainOf(doc), s.Getenv) {
		p.Lines = append(p.Lines, e.key+" = "+e.value)
	}
	return p
}

func plainOf(doc document) func(string) string {
	return func(key string) string {
		_, plain, _ := doc.get(key)
		return plain
	}
}

// Write sets a client up: it keeps a copy of the file beside it, notes down
// what it is about to change, and then changes it. A client that is set up
// already is taken back first, so that what was there before stays known.
func (s Setup) Write(id string, t Target) error {
	c, ok := find(id)
	if !ok {
		return fmt.Errorf("no client is called %q", id)
	}
	if _, ok := s.read()[id]; ok {
		if _, err := s.TakeBack(id); err != nil {
			return err
		}
	}
	path, err := real(c.path(s.Home, s.Getenv))
	if err != nil {
		return err
	}
	text, mode, err := load(path)
	if err != nil {
		return err
	}
	n := note{Path: path, Made: mode == 0}
	doc, err := c.open(text)
	if err != nil {
		return err
	}
	for _, e := range c.edits(t, plainOf(doc), s.Getenv) {
		ch := change{Key: e.key}
		ch.Before, _, ch.Had = doc.get(e.key)
		if ch.After, err = doc.set(e.key, e.value); err != nil {
			return err
		}
		n.Edits = append(n.Edits, ch)
	}
	n.Sum = sum(doc.bytes())
	if !n.Made {
		n.Backup = path + ".before-breakwater"
		if err := replace(n.Backup, text, mode); err != nil {
			return fmt.Errorf("keep a copy: %w", err)
		}
	}
	notes := s.read()
	notes[id] = n
	if err := s.write(notes); err != nil {
		return err
	}
	return replace(path, doc.bytes(), mode)
}

// TakeBack undoes what Write did to a client and returns what it did, in words.
// A file that nobody touched since gets its former bytes; in any other only the
// values that are still Breakwater's go. It returns nothing when the client is
// not set up.
func (s Setup) TakeBack(id string) (string, error) {
	notes := s.read()
	n, ok := notes[id]
	c, known := find(id)
	if !ok || !known {
		return "", nil
	}
	done, err := undo(c, n)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Path, err)
	}
	delete(notes, id)
	return done, s.write(notes)
}

func undo(c client, n note) (string, error) {
	text, mode, err := load(n.Path)
	if err != nil {
		return "", err
	}
	if mode == 0 {
		return "Already gone: " + n.Path, nil
	}
	if sum(text) == n.Sum {
		return undoWhole(n, mode)
	}
	doc, err := c.open(text)
	if err != nil {
		return "", err
	}
	for _, e := range n.Edits {
		raw, _, _ := doc.get(e.Key)
		switch {
		case raw != e.After: // it is somebody else's by now
		case e.Had:
			err = doc.put(e.Key, e.Before)
		default:
			err = doc.remove(e.Key)
		}
		if err != nil {
			return "", err
		}
	}
	if bytes.Equal(doc.bytes(), text) {
		return "Left alone: " + n.Path, nil
	}
	return "Taken back: " + n.Path, replace(n.Path, doc.bytes(), mode)
}

// undoWhole puts the former file back, byte by byte.
func undoWhole(n note, mode fs.FileMode) (string, error) {
	if n.Made {
		if err := os.Remove(n.Path); err != nil {
			return "", err
		}
		// The client's folder was made with the file; others may have filled it.
		if home, err := os.UserHomeDir(); err == nil && filepath.Dir(n.Path) != home {
			_ = os.Remove(filepath.Dir(n.Path))
		}
		return "Removed: " + n.Path, nil
	}
	before, _, err := load(n.Backup)
	if err != nil {
		return "", err
	}
	if err := replace(n.Path, before, mode); err != nil {
		return "", err
	}
	return "Restored: " + n.Path, os.Remove(n.Backup)
}

// TakeBackAll takes every client back and returns what it did, one line each.
// It goes on after an error and returns all of them.
func (s Setup) TakeBackAll() (done []string, failed error) {
	for _, c := range clients {
		line, err := s.TakeBack(c.id)
		if line != "" {
			done = append(done, line)
		}
		failed = errors.Join(failed, err)
	}
	return done, failed
}

// real follows links, so that a linked file stays one.
func real(path string) (string, error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// load reads a file and its mode; a missing one is empty with mode 0.
func load(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(path)
	return b, info.Mode().Perm(), err
}

// replace writes a file whole or not at all; mode 0 makes a private one.
func replace(path string, b []byte, mode fs.FileMode) error {
	if mode == 0 {
		mode = 0o600
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+strings.TrimPrefix(filepath.Base(path), ".")+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone once renamed
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
