// Package quota provides what is known of an account's quota windows and what
// follows from it before a request is sent.
package quota

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Kind is the span a window covers.
type Kind string

// The kinds, and the usual spans.
const (
	Session Kind = "session" // five hours
	Weekly  Kind = "weekly"
	Monthly Kind = "monthly"

	SessionSpan = 5 * time.Hour
	WeekSpan    = 7 * 24 * time.Hour
	MonthSpan   = 30 * 24 * time.Hour
)

// Window is one quota window as the provider last described it.
type Window struct {
	Kind Kind
	// Scope names the models a window is for, a family ("opus") or a version
	// ("Claude Opus 4.5"); empty: the whole account.
	Scope    string
	Used     float64   // share used, 0 to 1, more when overdrawn
	ResetAt  time.Time // zero: unknown
	Rejected bool      // the provider refuses because of it
	At       time.Time // when it was read
}

// Name is what thresholds are set for: "session", "weekly", "weekly:opus".
func (w *Window) Name() string {
	if w.Scope == "" {
		return string(w.Kind)
	}
	return string(w.Kind) + ":" + strings.ToLower(w.Scope)
}

// StaleAfter is the age at which a figure is not trusted any more, unless its
// reset is known and still ahead: until then a window only fills.
const StaleAfter = 10 * time.Minute

// Remaining returns the percentage left, and false when nothing can be said of
// the window any more. After its reset a window is full again.
func (w *Window) Remaining(now time.Time) (percent float64, known bool) {
	switch {
	case w.ResetAt.IsZero() && now.Sub(w.At) > StaleAfter:
		return 0, false
	case !w.ResetAt.IsZero() && !w.ResetAt.After(now):
		return 100, true
	case w.Rejected:
		return 0, true
	default:
		return min(100, max(0, 100*(1-w.Used))), true
	}
}

// Applies reports whether a request for a model draws on the window. A family
// is meant broadly, a version must agree.
func (w *Window) Applies(model string) bool {
	if w.Scope == "" {
		return true
	}
	words, version := split(w.Scope)
	have, haveVersion := split(model)
	for _, word := range words {
		if !slices.Contains(have, word) {
			return false
		}
	}
	return len(words) > 0 && len(version) <= len(haveVersion) && slices.Equal(version, haveVersion[:len(version)])
}

// split takes a model's name apart into its words and the numbers of its
// version; the maker's name and dates are neither.
func split(name string) (words, version []string) {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digits := strings.IndexFunc(part, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
		switch {
		case part == "claude" || part == "anthropic" || digits && len(part) > 3:
		case digits:
			version = append(version, part)
		default:
			words = append(words, part)
		}
	}
	return words, version
}

// Snapshot is all that is known of one account. The zero value is nothing.
type Snapshot struct {
	At      time.Time
	Windows []Window
	// LimitReached tells that the provider refuses the account as a whole.
	LimitReached bool
	// Overall is the share used, of providers that give one figure only; nil
	// when there is none.
	Overall *float64
}

// Window returns the account's own window of a kind.
func (s *Snapshot) Window(k Kind) (Window, bool) {
	for _, w := range s.Windows {
		if w.Kind == k && w.Scope == "" {
			return w, true
		}
	}
	return Window{}, false
}

// Models returns the windows that are for some models only, by scope.
func (s *Snapshot) Models() map[string]Window {
	m := map[string]Window{}
	for _, w := range s.Windows {
		if w.Scope != "" {
			m[strings.ToLower(w.Scope)] = w
		}
	}
	return m
}

// Merge returns what is known after a newer snapshot, which need not speak of
// every window.
func (s Snapshot) Merge(newer Snapshot) Snapshot {
	out := newer
	out.Windows = slices.Clone(newer.Windows)
	for _, old := range s.Windows {
		if !slices.ContainsFunc(newer.Windows, func(w Window) bool { return w.Name() == old.Name() }) {
			out.Windows = append(out.Windows, old)
		}
	}
	if out.Overall == nil && len(newer.Windows) == 0 {
		out.Overall = s.Overall
	}
	return out
}
