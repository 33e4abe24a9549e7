// Package lockout provides the locks of single models on one connection.
package lockout

import (
	"sort"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/settings"
)

// The reasons a lock is stored with (sheet §3.11, step 14).
const (
	ReasonNotFound        = "not_found"
	ReasonQuota           = "quota_exhausted"
	ReasonRateLimited     = "rate_limited"
	ReasonServerError     = "server_error"
	ReasonForbidden       = "forbidden"
	ReasonCredits         = "credits"
	ReasonQuality         = "quality_failure"
	ReasonRequestRejected = "request_rejected"
)

// The figures of sheet §5.3 and §5.4 that no setting changes.
const (
	maxStated      = 30 * 24 * time.Hour // ruling 10
	defaultReset   = 30 * time.Minute
	defaultMax     = 2 * time.Minute
	defaultSteps   = 15
	rateLimitBase  = time.Second
	otherBase      = 5 * time.Second
	day            = 24 * time.Hour
	capacity       = 1000
	sweepInterval  = 15 * time.Second
	longestToNight = 25 * time.Hour
)

// Rules are the figures that apply; the zero value stands for a caller without
// a profile.
type Rules struct {
	Base       time.Duration // the profile's
	Max        time.Duration // cap of guessed waits
	Steps      int           // most doublings, when HasSteps
	HasSteps   bool
	Flat       bool          // useExponentialBackoff is off
	ResetAfter time.Duration // the profile's reset time: how long a streak lasts
}

// Failure is one failure of one model.
type Failure struct {
	Model  string
	Status int
	Reason string
	// Scope is the key's shape when HasScope; else the status decides.
	Scope    Scope
	HasScope bool
	// Base replaces the profile's base. Exact is a wait known from elsewhere,
	// capped by Rules.Max unless the upstream itself stated it (Verified).
	Base     time.Duration
	Exact    time.Duration
	Verified bool
	// Stated tells that the provider itself named the wait: it falls only by its
	// end, a clear, a new key or the provider's own figures (ruling 66).
	Stated bool
}

// Lock is one model that is locked out.
type Lock struct {
	Model  string
	Reason string
	Until  time.Time
	Count  int
	span   time.Duration
	key    key
	stated bool // by the provider
}

// entry is a lock with its streak; it outlives the lock for as long as the
// next failure would still continue the streak.
type entry struct {
	Lock
	last       time.Time
	wait       time.Duration
	resetAfter time.Duration
}

// Set holds the locks of one connection, in memory only (guide §3). It is a
// value machine: the owner serialises the calls. Readers use a View.
type Set struct {
	provider string
	entries  map[key]*entry
	rejected map[string]rejection
	cuts     map[string]cut
	swept    time.Time
}

// NewSet returns the empty set of a connection of the provider.
func NewSet(provider string) Set { return Set{provider: Canonical(provider)} }

// Empty reports that a success would change nothing.
func (s *Set) Empty() bool { return len(s.entries) == 0 && len(s.rejected) == 0 && len(s.cuts) == 0 }

// Fail records a failure and returns the lock it leads to. Without a model
// there is nothing to lock.
func (s *Set) Fail(now time.Time, f Failure, r Rules) (Lock, bool) {
	if f.Model == "" {
		return Lock{}, false
	}
	s.sweep(now)
	scope := f.Scope
	if !f.HasScope {
		scope = ScopeFor(s.provider, f.Status, f.Reason)
	}
	k := keyOf(s.provider, f.Model, scope)
	e := s.entries[k]
	if e == nil || !e.continues(now) {
		e = s.put(k, e)
		e.Count = 0
	}
	e.Count++
	wait := min(e.waitFor(now, f, r), maxStated)
	e.Model, e.Reason = f.Model, f.Reason
	e.last, e.wait, e.resetAfter = clock.Wall(now), wait, r.ResetAfter
	if e.resetAfter <= 0 {
		e.resetAfter = defaultReset
	}
	if until := clock.Wall(now.Add(wait)); until.After(e.Until) { // a longer lock stays
		e.Until, e.span, e.stated = until, wait, f.Stated
	}
	s.evict(now)
	return e.Lock, true
}

func (s *Set) put(k key, old *entry) *entry {
	if old != nil {
		return old
	}
	if s.entries == nil {
		s.entries = map[key]*entry{}
	}
	e := &entry{Lock: Lock{key: k}}
	s.entries[k] = e
	return e
}

// continues reports whether the next failure belongs to the same streak.
func (e *entry) continues(now time.Time) bool {
	e.last = clock.Past(now, e.last)
	return now.Sub(e.last) <= e.resetAfter+e.wait
}

// waitFor is the wait of the streak's present failure (sheet §5.3).
func (e *entry) waitFor(now time.Time, f Failure, r Rules) time.Duration {
	exact, verified := f.Exact, f.Verified
	if exact <= 0 && f.Reason == ReasonQuota {
		exact = untilMidnight(now)
	}
	if exact > 0 {
		if r.Max > 0 && !verified {
			return min(exact, r.Max)
		}
		return exact
	}
	base := firstPositive(f.Base, r.Base)
	if base == 0 {
		base = otherBase
		if f.Status == 429 {
			base = rateLimitBase
		}
	}
	steps := e.Count - 1
	switch {
	case r.Flat:
		steps = 0
	case r.HasSteps:
		steps = min(steps, r.Steps)
	default:
		steps = min(steps, defaultSteps)
	}
	return settings.Backoff(base, steps, firstPositive(r.Max, defaultMax))
}

func firstPositive(a, b time.Duration) time.Duration {
	if a > 0 {
		return a
	}
	return max(0, b)
}

// untilMidnight returns the time to the next midnight where now is.
func untilMidnight(now time.Time) time.Duration {
	y, m, d := now.Date()
	wait := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
	if wait <= 0 || wait > longestToNight {
		return day
	}
	return wait
}

// Succeed halves the failure counts of the model and lifts the locks that reach
// zero (ruling 11). It returns the highest count left and whether anything
// changed.
func (s *Set) Succeed(model string) (left int, changed bool) {
	if model == "" {
		return 0, false
	}
	delete(s.rejected, "")
	delete(s.cuts, model)
	if _, ok := s.rejected[model]; ok {
		delete(s.rejected, model)
		delete(s.entries, keyOf(s.provider, model, Exact))
		changed = true
	}
	family := QuotaModel(s.provider, model)
	for k, e := range s.entries {
		if !k.hits(model, family) {
			continue
		}
		changed = true
		if e.Count /= 2; e.Count == 0 {
			delete(s.entries, k)
		}
		left = max(left, e.Count)
	}
	return left, changed
}

// Clear lifts the locks that keep a model out, or all of them when model is
// empty, and returns how many were active.
func (s *Set) Clear(now time.Time, model string) int {
	n := 0
	family := QuotaModel(s.provider, model)
	for k, e := range s.entries {
		if model == "" || k.hits(model, family) {
			if e.Until.After(now) {
				n++
			}
			delete(s.entries, k)
		}
	}
	if model == "" {
		s.rejected, s.cuts = nil, nil
	}
	delete(s.rejected, model)
	delete(s.cuts, model)
	return n
}

// Prove lifts what a token that the model has generated disproves: its locks
// but for those that the provider has stated (ruling 66).
func (s *Set) Prove(now time.Time, model string) {
	family := QuotaModel(s.provider, model)
	for k, e := range s.entries {
		if k.hits(model, family) && !(e.stated && e.Until.After(now)) {
			delete(s.entries, k)
		}
	}
	delete(s.rejected, model)
	delete(s.cuts, model)
}

// ProveQuota lifts what the provider's own figures disprove: the locks that were
// set because a quota was used up or a rate exceeded.
func (s *Set) ProveQuota() {
	for k, e := range s.entries {
		if e.Reason == ReasonQuota || e.Reason == ReasonRateLimited {
			delete(s.entries, k)
		}
	}
}

// Active returns the locks that hold now, the longest first.
func (s *Set) Active(now time.Time) []Lock {
	var list []Lock
	for _, e := range s.entries {
		if e.Until.After(now) {
			if clock.Stepped(now, e.Until, e.span) {
				e.Until = clock.Wall(now.Add(e.span))
			}
			list = append(list, e.Lock)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if !list[i].Until.Equal(list[j].Until) {
			return list[i].Until.After(list[j].Until)
		}
		return list[i].Model < list[j].Model
	})
	return list
}

// sweep forgets what is neither locked nor part of a streak any more.
func (s *Set) sweep(now time.Time) {
	if now.Sub(s.swept) < sweepInterval && !s.swept.After(now) {
		return
	}
	s.swept = now
	for k, e := range s.entries {
		if !e.Until.After(now) && !e.continues(now) {
			delete(s.entries, k)
		}
	}
	for model, r := range s.rejected {
		if now.Sub(r.last) >= rejectedWindow {
			delete(s.rejected, model)
		}
	}
	for model, c := range s.cuts {
		if now.Sub(c.first) >= cutWindow {
			delete(s.cuts, model)
		}
	}
}

// evict keeps the set at its capacity. Only expired locks go, the oldest
// first, even if that leaves too many.
func (s *Set) evict(now time.Time) {
	over := len(s.entries) - capacity
	if over <= 0 {
		return
	}
	expired := make([]*entry, 0, len(s.entries))
	for _, e := range s.entries {
		if !e.Until.After(now) {
			expired = append(expired, e)
		}
	}
	sort.Slice(expired, func(i, j int) bool { return expired[i].Until.Before(expired[j].Until) })
	for _, e := range expired[:min(over, len(expired))] {
		delete(s.entries, e.key)
	}
}
