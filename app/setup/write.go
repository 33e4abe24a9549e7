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
	if former != nil {
		out, err := s.undone(c, *former, f.text)
		if _, taken := errors.AsType[takenOver](err); taken {
			n.Below = former // undone in the reverse order, as two data folders may alternate
		} else if err != nil {
			return note{}, nil, err
		} else {
			base = out.text
			n.Made = !f.exists || former.Made && out.gone // a file that the user has filled is not ours to remove
			n.MadeDir, n.Below = former.MadeDir, out.rest
		}
	}
	doc, err := edit(c.format, base)
	if err != nil {
		return note{}, nil, err
	}
	settings := c.edits(t, doc.plain, s.getenv)
	for _, e := range settings {
		ch := change{Key: e.key, Value: e.value, Made: doc.missing(e.key), Address: e.address}
		if ch.Old, ch.Had, err = doc.set(e.key, e.value); err != nil {
			return note{}, nil, err
		}
		n.Edits = append(n.Edits, ch)
	}
	n.Steps = doc.steps
	if !n.Made {
		n.Before = sum(base)
	}
	text := doc.bytes()
	n.After = sum(text)
	if n.Below != nil && sameValues(*n.Below, n) {
		// The file is to say what it said before another Breakwater came: it is
		// set up as then, not over the other one.
		back := *n.Below
		back.Former = former
		if back.After != n.After {
			back.After, back.Steps = n.After, nil
		}
		return back, text, nil
	}
	if err := s.hide(c, &n, base, settings); err != nil {
		s.forget(n, former)
		return note{}, nil, err
	}
	return n, text, nil
}

func sameValues(a, b note) bool {
	return slices.EqualFunc(a.Edits, b.Edits, func(x, y change) bool { return slices.Equal(x.Key, y.Key) && x.Value == y.Value })
}

// hide moves replaced keys and tokens into the secret store and keeps a copy of
// the file without them.
func (s Setup) hide(c client, n *note, base []byte, settings []setting) error {
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
	if n.Made {
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
	held := &before
	if !had {
		held = nil
	}
	notes[c.id] = n
	s.point()
	if err := s.write(notes); err != nil {
		s.forget(n, held)
		return err
	}
	s.point()
	made, err := makeDir(filepath.Dir(f.path))
	if err == nil && made != "" {
		n.MadeDir = made
		notes[c.id] = n
		err = s.write(notes)
	}
	if err == nil && n.After != sum(f.text) {
		s.point()
		err = f.replace(text)
		s.point()
	}
	if err != nil {
		if delete(notes, c.id); had {
			notes[c.id] = before
		}
		removeEmpty(filepath.Dir(f.path), made)
		if s.write(notes) == nil {
			s.forget(n, held)
		}
		return err
	}
	if n.Former != nil {
		former := *n.Former
		n.Former = nil
		notes[c.id] = n
		if err := s.write(notes); err == nil {
			s.point()
			s.forget(former, &n)
		}
	}
	return nil
}
