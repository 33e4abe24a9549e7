package setup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// tries is how often an edit starts over when another program writes the file
// at the same moment.
const tries = 4

// Write sets a client up: it keeps a copy of the file in the data folder,
// records what it is about to change, and then changes it. A client that is set
// up already is undone in the same write, so that what was there before stays
// known. It returns an *AskError when the user has to agree first.
func (s Setup) Write(id string, t Target, agreed ...Question) error {
	c, ok := find(id)
	if !ok {
		return fmt.Errorf("%w: %q", errNoClient, id)
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for range tries {
		if err = s.writeOnce(c, t, agreed); !errors.Is(err, errRaced) {
			break
		}
	}
	return err
}

func (s Setup) writeOnce(c client, t Target, agreed []Question) error {
	notes, err := s.read()
	if err != nil {
		return err
	}
	link := c.path(s.Home, s.getenv)
	f, err := load(link)
	if err != nil {
		return err
	}
	if f.readOnly() && !slices.Contains(agreed, AskReadOnly) {
		return &AskError{Question: AskReadOnly, Path: link}
	}
	former, had := notes[c.id]
	if had && former.Path != f.path { // another file wins by now
		if _, err := s.undoNoted(c, notes, agreed); err != nil {
			return err
		}
		delete(notes, c.id)
		had = false
	}
	var old *note
	if had {
		old = &former
	}
	n, text, err := s.edited(c, t, f, link, old)
	if err != nil {
		return err
	}
	return s.commit(c, notes, n, f, text)
}

// edited returns what is to be recorded and the text to be written.
func (s Setup) edited(c client, t Target, f settingsFile, link string, former *note) (note, []byte, error) {
	n := note{Link: link, Path: f.path, Made: !f.exists, Former: former}
	base := f.text
	carried := false
	if former != nil {
		n.Made, n.MadeDir = former.Made, former.MadeDir
		out, err := s.undone(c, *former, f.text)
		if _, taken := errors.AsType[takenOver](err); taken {
			carried = true // what stood there before the first time stays known
		} else if err != nil {
			return note{}, nil, err
		} else {
			base = out.text
		}
	}
	doc, err := edit(c.format, base)
	if err != nil {
		return note{}, nil, err
	}
	settings := c.edits(t, doc.plain, s.getenv)
	adopted := former == nil && !slices.ContainsFunc(settings, func(e setting) bool { return doc.plain(e.key) != e.value })
	for _, e := range settings {
		ch := change{Key: e.key, Value: e.value, Made: doc.missing(e.key), Address: e.address}
		if adopted { // it is set up already, without a record: undoing takes it out
			ch.Made = min(1, len(e.key)-1)
		} else if ch.Old, ch.Had, err = doc.set(e.key, e.value); err != nil {
			return note{}, nil, err
		}
		if before := earlier(former, e.key); carried && before != nil {
			ch.Had, ch.Old, ch.Secret, ch.Made = before.Had, before.Old, before.Secret, before.Made
		}
		n.Edits = append(n.Edits, ch)
	}
	n.Steps = doc.steps
	if !n.Made && !carried && !adopted {
		n.Before = sum(base)
	}
	text := doc.bytes()
	n.After = sum(text)
	if carried {
		n.Steps = nil
		n.Copy, n.Before = former.Copy, ""
	} else if err := s.hide(c, &n, base, settings, adopted); err != nil {
		s.forget(n, former)
		return note{}, nil, err
	}
	return n, text, nil
}

func earlier(n *note, key path) *change {
	if n == nil {
		return nil
	}
	for i := range n.Edits {
		if slices.Equal(n.Edits[i].Key, key) {
			return &n.Edits[i]
		}
	}
	return nil
}

// hide moves replaced keys and tokens into the secret store and keeps a copy of
// the file without them.
func (s Setup) hide(c client, n *note, base []byte, settings []setting, adopted bool) error {
	copied := string(base)
	for i := range n.Edits {
		ch := &n.Edits[i]
		if !ch.Had || !isSecret(settings[i], ch.Old) {
			continue
		}
		if s.Secrets == nil {
			return fmt.Errorf("%s holds a key, and there is no secret store to keep it in, so the file is left alone", ch.Key)
		}
		ch.Secret = "agent." + c.id + "." + random()
		if err := s.Secrets.SetSecret(ch.Secret, ch.Old); err != nil {
			return fmt.Errorf("keep the key that is replaced: %w", err)
		}
		copied = strings.ReplaceAll(copied, ch.Old, ch.Secret)
		for j := range n.Steps {
			if n.Steps[j].Old == ch.Old {
				n.Steps[j].Old, n.Steps[j].Secret = "", ch.Secret
			}
		}
		ch.Old = ""
	}
	if n.Made || adopted {
		return nil
	}
	var err error
	n.Copy, err = s.keep(c.id, "copy", []byte(copied))
	return err
}

// isSecret reports whether a replaced value may hold a key: in a key's place,
// or inside an address.
func isSecret(e setting, raw string) bool {
	plain := strings.Trim(raw, `"' `)
	if e.secret {
		return plain != "" && plain != localKey
	}
	u, err := url.Parse(plain)
	return err == nil && e.address && (u.User != nil || u.RawQuery != "")
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// commit records a note, writes the file, and then forgets what held before.
func (s Setup) commit(c client, notes journal, n note, f settingsFile, text []byte) error {
	before, had := notes[c.id]
	notes[c.id] = n
	if err := s.write(notes); err != nil {
		s.forget(n, n.Former)
		return err
	}
	made, err := makeDir(filepath.Dir(f.path))
	if err == nil && made != "" {
		n.MadeDir = made
		notes[c.id] = n
		err = s.write(notes)
	}
	if err == nil && n.After != sum(f.text) {
		err = f.replace(text)
	}
	if err != nil {
		if delete(notes, c.id); had {
			notes[c.id] = before
		}
		removeEmpty(filepath.Dir(f.path), made)
		if s.write(notes) == nil {
			s.forget(n, n.Former)
		}
		return err
	}
	if n.Former != nil {
		former := *n.Former
		n.Former = nil
		notes[c.id] = n
		if err := s.write(notes); err == nil {
			s.forget(former, &n)
		}
	}
	return nil
}
