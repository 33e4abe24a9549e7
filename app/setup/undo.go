package setup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// outcome is what an undo makes of a text.
type outcome struct {
	text  []byte
	gone  bool     // the file was made by us and holds nothing else
	exact bool     // it is the former file, by its digest
	kept  []string // keys that were changed since and stay
	rest  *note    // what is still to be undone below
}

// states are the notes that a file may be in: of a crash the note before, and
// of an undo that was cut off the one below. Each is undone by its own.
func (n note) states() []note {
	out := []note{n}
	for _, other := range []*note{n.Former, n.Below} {
		if other != nil {
			out = append(out, other.states()...)
		}
	}
	return out
}

// undone takes a note out of a text. A text that is as it was left gets its
// former bytes, which are compared by digest; in any other one our keys are
// edited out.
func (s Setup) undone(c client, n note, text []byte) (outcome, error) {
	notes := n.states()
	digest := sum(text)
	for _, n := range notes {
		if n.Before != "" && n.Before == digest {
			return outcome{text: text, exact: true, rest: n.Below}, nil
		}
	}
	for _, n := range notes {
		if n.After != digest {
			continue
		}
		if n.Made {
			return outcome{gone: true, exact: true, rest: n.Below}, nil
		}
		if out, ok := s.exact(n, text); ok {
			return outcome{text: out, exact: true, rest: n.Below}, nil
		}
	}
	var failed error
	for _, n := range notes {
		out, err := s.editedOut(c, n, text)
		if err == nil {
			return out, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return outcome{}, failed
}

// exact makes the steps of a note undone; ok is false unless that gives the
// former file.
func (s Setup) exact(n note, text []byte) (out []byte, ok bool) {
	steps := slices.Clone(n.Steps)
	for i, st := range steps {
		raw, err := s.reveal(st.Old, st.Secret)
		if err != nil {
			return nil, false
		}
		steps[i].Old = raw
	}
	body := bytes.TrimPrefix(text, bom)
	marked := len(body) < len(text)
	if body, ok = unstep(body, steps); !ok {
		return nil, false
	}
	if marked {
		body = slices.Concat(bom, body)
	}
	return body, n.Before != "" && sum(body) == n.Before
}

func (s Setup) editedOut(c client, n note, text []byte) (outcome, error) {
	doc, err := edit(c.format, text)
	if err != nil {
		return outcome{}, err
	}
	kept, err := doc.undo(c, n, s.old)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{text: doc.bytes(), kept: kept, rest: n.Below}
	if n.Made && len(doc.steps) > 0 && len(doc.tree) == 0 && len(c.format.comments(doc.body)) == 0 {
		out.gone = true
	}
	out.exact = n.Before != "" && sum(out.text) == n.Before
	return out, nil
}

// Undo takes what Write did out of a client's settings as they are now, and
// returns what it did, in words. Values that were changed since stay. It
// returns nothing when the client is not set up, and an *AskError when the user
// has to agree first. When it fails, the file is as it was.
func (s Setup) Undo(id string, agreed ...Question) (string, error) {
	c, ok := find(id)
	if !ok {
		return "", fmt.Errorf("%w: %q", errNoClient, id)
	}
	if notes, err := s.read(); err != nil || len(notes) == 0 {
		return "", err
	}
	unlock, err := s.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	var done string
	for range tries {
		notes, err := s.read()
		if err != nil {
			return "", err
		}
		if done, err = s.undoNoted(c, notes, agreed); !errors.Is(err, errRaced) {
			return done, err
		}
	}
	return "", errRaced
}

// undoNoted undoes a client in its file, and in the one that was written if the
// client's link leads elsewhere by now; then it drops the note.
func (s Setup) undoNoted(c client, notes journal, agreed []Question) (string, error) {
	n, ok := notes[c.id]
	if !ok {
		return "", nil
	}
	paths := []string{n.Link}
	if to, err := resolve(n.Link); err == nil && to != n.Path {
		paths = append(paths, n.Path)
	}
	var done []string
	var rest *note
	for _, p := range paths {
		line, below, err := s.undoFile(c, n, p, agreed)
		if _, asks := errors.AsType[*AskError](err); asks || errors.Is(err, errRaced) {
			return "", err
		}
		if err != nil {
			return "", fmt.Errorf("%s is left as it is: %w", n.Link, err)
		}
		done = append(done, line)
		if below != nil {
			rest = below
		}
	}
	s.point()
	left := maps.Clone(notes)
	if delete(left, c.id); rest != nil {
		left[c.id] = *rest
	}
	if err := s.write(left); err != nil {
		return "", err
	}
	s.point()
	s.forget(n, rest)
	return s.undoBelow(c, left, strings.Join(done, "; "))
}

// undoBelow goes on with the note that another Breakwater has written over, if
// there is one and its turn has come. If not, that is said and it stays.
func (s Setup) undoBelow(c client, notes journal, done string) (string, error) {
	if _, ok := notes[c.id]; !ok {
		return done, nil
	}
	more, err := s.undoNoted(c, notes, nil)
	if err != nil {
		return fmt.Sprintf("%s (%v)", done, err), nil
	}
	return done + "; " + more, nil
}

func (s Setup) undoFile(c client, n note, at string, agreed []Question) (line string, rest *note, err error) {
	f, err := load(at)
	if err != nil {
		return "", nil, err
	}
	if !f.exists {
		if isLink(at) && !n.Made {
			return "", nil, errors.New("it is a link to a file that is not there")
		}
		return "Already gone: " + at, nil, nil
	}
	out, err := s.undone(c, n, f.text)
	if err != nil {
		line, err = s.fromCopy(c, n, f, at, err, agreed)
		return line, nil, err
	}
	if !out.gone && bytes.Equal(out.text, f.text) {
		s.dropOldCopy(n, f.text)
		return describe(out, at) + still(c, n, out.text), out.rest, nil
	}
	if f.readOnly() && !slices.Contains(agreed, AskReadOnly) {
		return "", nil, &AskError{Question: AskReadOnly, Path: at}
	}
	if out.gone {
		if err := f.remove(); err != nil {
			return "", nil, err
		}
		removeEmpty(filepath.Dir(f.path), n.MadeDir)
		return "Removed: " + at, out.rest, nil
	}
	if err := f.replace(out.text); err != nil {
		return "", nil, err
	}
	s.dropOldCopy(n, out.text)
	if out.exact {
		return "Restored: " + at + still(c, n, out.text), out.rest, nil
	}
	return "Undone: " + at + keptWords(out.kept) + still(c, n, out.text), out.rest, nil
}

// still says that a file points at a Breakwater, or at another server of this
// machine, as it did before: undoing gives that back and goes no further.
func still(c client, n note, text []byte) string {
	doc, err := edit(c.format, text)
	if err != nil {
		return ""
	}
	for _, ch := range n.Edits {
		if v := doc.plain(ch.Key); ch.Address && loopback(v) {
			return " (it points at " + v + ", as before)"
		}
	}
	return ""
}

// describe says how a file stands that needed no write.
func describe(out outcome, at string) string {
	if out.exact {
		return "Left as it was: " + at
	}
	if len(out.kept) > 0 {
		return "Left alone: " + at + keptWords(out.kept)
	}
	return "Nothing of Breakwater's is left in " + at
}

func keptWords(kept []string) string {
	if len(kept) == 0 {
		return ""
	}
	return " (changed since and kept: " + strings.Join(kept, ", ") + ")"
}

// dropOldCopy deletes the copy that version 1 kept beside a file, if the file
// says the same; any other file of that name is not ours to delete.
func (s Setup) dropOldCopy(n note, text []byte) {
	if !filepath.IsAbs(n.Copy) {
		return
	}
	if b, err := readAtMost(n.Copy, maxFile); err == nil && bytes.Equal(b, text) {
		_ = os.Remove(n.Copy)
	}
}

// fromCopy is the last resort when our keys cannot be edited out: it puts the
// copy back, if it is whole and the user agrees. The present file is kept in
// the data folder.
func (s Setup) fromCopy(c client, n note, f settingsFile, at string, reason error, agreed []Question) (string, error) {
	text, err := s.kept(n)
	if err != nil && n.Former != nil {
		text, err = s.kept(*n.Former)
	}
	if err != nil {
		return "", reason
	}
	if !slices.Contains(agreed, AskCopy) {
		return "", &AskError{Question: AskCopy, Path: at, Reason: reason.Error()}
	}
	name, err := s.keep(c.id, "replaced", f.text)
	if err != nil {
		return "", err
	}
	if err := f.replace(text); err != nil {
		return "", err
	}
	return "Restored from the copy: " + at + " (what it replaced: " + filepath.Join(s.Dir, name) + ")", nil
}

// UndoAll undoes every client and returns what it did, one line each. It goes
// on after an error and returns all of them. What needs the user's consent is
// asked of ask; nil refuses it.
func (s Setup) UndoAll(ask func(*AskError) bool) (done []string, failed error) {
	if _, err := s.read(); err != nil {
		return nil, err
	}
	for _, c := range clients {
		line, err := s.undoAsking(c.id, ask)
		if line != "" {
			done = append(done, line)
		}
		failed = errors.Join(failed, err)
	}
	return done, failed
}

func (s Setup) undoAsking(id string, ask func(*AskError) bool) (string, error) {
	var agreed []Question
	for {
		line, err := s.Undo(id, agreed...)
		q, asks := errors.AsType[*AskError](err)
		if !asks || ask == nil || slices.Contains(agreed, q.Question) || !ask(q) {
			return line, err
		}
		agreed = append(agreed, q.Question)
	}
}
