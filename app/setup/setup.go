package setup

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Setup edits the settings of the clients of one user.
type Setup struct {
	// Dir is Breakwater's data folder, where what was changed is recorded before
	// it is changed, with copies of the files. Every data folder has its own.
	Dir string
	// Home is the user's folder; Getenv looks variables up that move a client's
	// settings elsewhere.
	Home   string
	Getenv func(string) string
	// Secrets keeps keys and tokens that are replaced. Without it a file with
	// one is left alone.
	Secrets Secrets
	// Lock is the lock of the data folder; nil uses a file of our own in it.
	Lock Lock

	crash func() // for tests: called wherever a killed process leaves another state
}

func (s Setup) point() {
	if s.crash != nil {
		s.crash()
	}
}

// Secrets is the store for keys and tokens.
type Secrets interface {
	Secret(name string) (value string, ok bool, err error)
	SetSecret(name, value string) error
	DeleteSecret(name string) error
}

// State tells how a client stands.
type State string

// The states of a client's settings.
const (
	StateNone    State = "none"    // not set up by Breakwater
	StateSet     State = "set"     // as Breakwater left it
	StateChanged State = "changed" // set up, and changed since
)

// Plan is what setting a client up would do.
type Plan struct {
	ID, Name string
	Path     string
	Exists   bool     // the file is there, so a copy will be kept
	ReadOnly bool     // the file is read-only: the user is asked first
	Lines    []string // what will stand in it, one value each
	State    State
	Bypass   []string // Codex profiles with a provider of their own
	Problem  string   // why it cannot be done, in words for a person
}

// Question is something that only the user can decide.
type Question string

// The questions. Their answer is given by repeating the call with them.
const (
	AskReadOnly Question = "read-only" // write to a file that is read-only?
	AskCopy     Question = "copy"      // put the copy back, and lose later changes?
)

// AskError is returned when a step needs the user's consent; nothing was written.
type AskError struct {
	Question Question
	Path     string
	Reason   string // why it is asked
}

// Error says what has to be decided.
func (e *AskError) Error() string {
	if e.Question == AskCopy {
		return fmt.Sprintf("%s cannot be undone: %s. A copy of the file from before it was set up is kept.", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s is read-only", e.Path)
}

// Plans returns what can be done for every client.
func (s Setup) Plans(t Target) []Plan {
	notes, failed := s.read()
	out := make([]Plan, len(clients))
	for i, c := range clients {
		out[i] = s.plan(c, t, notes)
		if failed != nil {
			out[i].Problem = failed.Error()
		}
	}
	return out
}

func (s Setup) plan(c client, t Target, notes journal) Plan {
	p := Plan{ID: c.id, Name: c.name, Path: c.path(s.Home, s.getenv), State: StateNone}
	f, err := load(p.Path)
	p.Exists, p.ReadOnly = f.exists, f.readOnly()
	if err != nil {
		p.Problem = err.Error()
	}
	doc, err := edit(c.format, f.text)
	if err != nil {
		p.Problem = err.Error()
		doc, _ = edit(c.format, nil)
	}
	for _, e := range c.edits(t, doc.plain, s.getenv) {
		p.Lines = append(p.Lines, e.key.String()+" = "+e.value)
		if _, _, err := doc.set(e.key, e.value); err != nil && p.Problem == "" {
			p.Problem = err.Error()
		}
	}
	if c.id == Codex {
		p.Bypass = codexBypass(p.Path)
	}
	if n, ok := notes[c.id]; ok {
		p.State = stateOf(c, n, f)
		p.Path = n.Link
	}
	return p
}

// stateOf compares the file that the client reads with what was written. A file
// that has come since and wins over ours counts as a change (Q23).
func stateOf(c client, n note, f settingsFile) State {
	doc, err := edit(c.format, f.text)
	if err != nil {
		return StateChanged
	}
	for _, e := range n.Edits {
		if v, _ := doc.get(e.Key); v != e.Value {
			return StateChanged
		}
	}
	return StateSet
}

// plain returns a present value as text, empty for none.
func (e *editor) plain(p path) string {
	v, _ := e.get(p)
	return v
}

// takenOver means that the client was pointed somewhere else since.
type takenOver struct{ to string }

func (e takenOver) Error() string {
	return fmt.Sprintf("it points at %s now, which this Breakwater did not write", e.to)
}

// loopback reports whether an address is on this machine.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// undo takes the changes of a note out of the document as it is now. It returns
// the keys that were changed since and therefore stay.
func (e *editor) undo(c client, n note, old func(change) (string, error)) (kept []string, err error) {
	owned := len(c.own) > 0 && !slices.ContainsFunc(n.Edits, func(ch change) bool { return ch.Key.within(c.own) && ch.Had })
	for _, ch := range n.Edits {
		if v, ok := e.get(ch.Key); ok && ch.Address && v != ch.Value && (loopback(v) || owned) {
			return nil, takenOver{v}
		}
	}
	for _, ch := range slices.Backward(n.Edits) {
		if owned && ch.Key.within(c.own) || !e.has(ch.Key) {
			continue
		}
		if v, _ := e.get(ch.Key); v != ch.Value {
			kept = append(kept, ch.Key.String())
			continue
		}
		if err := e.undoOne(ch, old); err != nil {
			return nil, err
		}
	}
	if owned && e.has(c.own) {
		if err := e.remove(c.own); err != nil {
			return nil, err
		}
	}
	if c.id == Codex && !e.has(c.own) {
		if users := codexUses(e.tree); len(users) > 0 {
			return nil, fmt.Errorf("the profile %q uses the provider breakwater; give it another one first", users[0])
		}
	}
	return kept, e.sweep(n)
}

func (e *editor) undoOne(ch change, old func(change) (string, error)) error {
	if !ch.Had {
		return e.remove(ch.Key)
	}
	raw, err := old(ch)
	if err != nil {
		return err
	}
	return e.restore(ch.Key, raw)
}

// sweep takes out the objects that were made for our values and are empty now.
func (e *editor) sweep(n note) error {
	for _, ch := range slices.Backward(n.Edits) {
		for k := len(ch.Key) - 1; ch.Made > 0 && k >= ch.Made; k-- {
			if m, ok := lookup(e.tree, ch.Key[:k]).(map[string]any); ok && len(m) == 0 {
				if err := e.remove(ch.Key[:k]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// missing returns how much of a key's way is there: the length of its first
// part that is not, 0 when only the value itself is missing.
func (e *editor) missing(p path) int {
	for k := 1; k < len(p); k++ {
		if !e.has(p[:k]) {
			return k
		}
	}
	return 0
}

var errNoClient = errors.New("there is no such agent")
