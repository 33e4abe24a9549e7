package combo

import "slices"

// Exhaustion is what one pass over a combo's targets has used up (sheet §2.6).
// Each set retry begins with a fresh one.
type Exhaustion struct {
	providers   map[string]bool
	connections map[string]bool // "provider:connection"
}

// FailureClass is what a failed attempt says about the rest of the pass.
type FailureClass uint8

// The classes (sheet §2.5, column "Exhaustion set").
const (
	// MarksNothing: 404, 422, token limits, quality, the request's own faults,
	// an open circuit, an empty answer, anything of this machine.
	MarksNothing FailureClass = iota
	// MarksProvider: quota exhausted.
	MarksProvider
	// MarksConnection: 401, 403, 408, 5xx, a stream that did not begin. Without
	// a known connection the provider is marked.
	MarksConnection
	// MarksTransient: a rate limit that is no quota. Other targets stay: a limit
	// always cools its connection until a known time, which the loop looks at
	// anyway, so the sheet's leave to use limited connections has nothing to do.
	MarksTransient
)

// Failure is a failed attempt, as classified from its structured code first and
// its text last.
type Failure struct {
	Target *Target
	// Connection is the one that was used, from the target or from the header
	// X-OmniRoute-Selected-Connection-Id; empty: unknown.
	Connection string
	Class      FailureClass
	// PerModelQuota tells that the provider counts quota by model: its quota
	// and its 500s say nothing about other models.
	PerModelQuota bool
	Status        int
}

// Mark records a failure.
func (e *Exhaustion) Mark(f Failure) {
	p := f.Target.Provider
	if p == "" || p == "unknown" {
		return
	}
	switch f.Class {
	case MarksProvider:
		if !f.PerModelQuota {
			put(&e.providers, p)
		}
	case MarksConnection:
		if f.PerModelQuota && f.Status == 500 {
			return
		}
		c := f.Target.Connection
		if c == "" {
			c = f.Connection
		}
		if c == "" {
			put(&e.providers, p)
			return
		}
		put(&e.connections, p+":"+c)
	case MarksTransient, MarksNothing:
	}
}

// Skip reports whether a target is not worth trying any more, the connection's
// reason before the provider's. A target without a connection of its own is not
// touched by what happened to one.
func (e *Exhaustion) Skip(t *Target) (reason string, skip bool) {
	if t.Connection != "" && e.connections[t.Provider+":"+t.Connection] {
		return "connection", true
	}
	if e.providers[t.Provider] {
		return "provider", true
	}
	return "", false
}

// MayLeave reports whether the loop may go on from a target of a priority combo.
// A protected one is left only when every failure seen on it was quota.
func MayLeave(t *Target, seen []FailureClass) bool {
	return !t.Protected || !slices.ContainsFunc(seen, func(c FailureClass) bool { return c != MarksProvider })
}

func put(set *map[string]bool, key string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[key] = true
}
