// Package cooldown provides the cooldown of one connection, its backoff and
// terminal states, and the opt-in provider window.
package cooldown

import (
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
)

// The values of test_status that are not terminal (sheet §3.1). WrongAddress
// ends by no time either (ruling 56).
const (
	Active       = "active"
	Unavailable  = "unavailable"
	WrongAddress = "wrong_address"
)

// MaxStated is the ceiling of every deadline, stated or stored (rulings 9, 10).
const MaxStated = 30 * 24 * time.Hour

// The sources of a deadline that no provider has stated: our own ladder, and an
// operator's rule.
const (
	sourceLadder = "ladder"
	sourceRule   = "rule"
)

// State is what is remembered of one connection (guide §2, "Campos por
// conexión"). It is a value machine: the owner serialises the calls.
type State struct {
	Until     time.Time     // rateLimitedUntil, wall time; zero: not cooling
	Span      time.Duration // how long that was when it was set, the bound on reading
	Status    string        // active, unavailable or a terminal state
	Level     int           // backoffLevel
	ErrorCode int
	ErrorType string
	Reason    outcome.Reason
	ErrorAt   time.Time
	Source    string // what set the deadline: header, body, ladder, rule …
	RawHint   string
	Words     string // the refusal's own words, cleaned (ruling 62)

	Refusals  Refusals  // plain refusals in a row
	Attention Attention // what they add up to

	Retries int       // ExpiredRetries: failed retries of an expired credential
	RetryAt time.Time // when it was last found expired

	streak streak // of 401 answers, not stored
	pages  int    // rungs of the not_api ladder that were climbed, not stored
	retry  retryLease
}

// New returns the state of a connection that nothing has happened to.
func New() State { return State{Status: Active} }

// Rules are what the owner's settings say about the connection.
type Rules struct {
	DisableCooling bool          // never cooled; terminal states still apply
	ClientsOwn     bool          // the credential is the client's: its refusals say nothing of the connection (ruling 34)
	Refreshed      bool          // a token of our own that is refreshed: the 401 streak applies
	Base           time.Duration // base cooldown of the profile
	StallCools     bool          // streamStallCooldown.enabled
}

// Effect is what a failure did to the connection.
type Effect struct {
	Until    time.Time        // end of the cooldown, zero if none
	Cooldown time.Duration    // the time left until then
	Terminal outcome.Terminal // set now, or before
	Written  bool             // the state has changed and must be stored
	Cooled   bool             // a new cooldown has begun
	Fell     bool             // a terminal state was entered
	// Misplaced tells that the address turned out to be wrong, Alarmed that the
	// connection began to need attention.
	Misplaced, Alarmed bool
}

// Terminal returns the terminal state, or NotTerminal.
func (s *State) Terminal() outcome.Terminal { return terminal(s.Status) }

func terminal(status string) outcome.Terminal {
	switch t := outcome.Terminal(status); t {
	case outcome.Banned, outcome.Expired, outcome.CreditsExhausted:
		return t
	default:
		return outcome.NotTerminal
	}
}

// Clean reports that a success would change nothing.
func (s *State) Clean() bool {
	return s.Status == Active && s.Until.IsZero() && s.Level == 0 && s.ErrorCode == 0 && s.ErrorType == "" &&
		s.Reason == "" && s.Words == "" && s.ErrorAt.IsZero() && s.streak.n == 0 && s.pages == 0 &&
		s.Refusals == Refusals{} && s.Attention == Attention{} && s.Retries == 0 && s.RetryAt.IsZero()
}

// Cooling returns the end of the cooldown, or the zero time when the
// connection may be used: recovery is by reading (guide §2).
func (s *State) Cooling(now time.Time) time.Time {
	if s.Until.IsZero() || !s.Until.After(now) {
		return time.Time{}
	}
	s.Anchor(now)
	return s.Until
}

// Anchor brings a deadline that a clock step has pushed away back to its span.
func (s *State) Anchor(now time.Time) {
	if clock.Stepped(now, s.Until, s.Span) {
		s.Until = clock.Wall(now.Add(s.Span))
	}
}

// Fail applies a failure in the order of sheet §3.11. The caller has decided
// that it is the connection's: not the request's, the model's or this
// machine's. retry tells that the attempt held the retry lease of an expired
// credential.
func (s *State) Fail(now time.Time, o outcome.Outcome, r Rules, retry bool) Effect {
	if t := s.Terminal(); t != outcome.NotTerminal { // step 3
		if retry {
			return s.failRetry(now, o)
		}
		return Effect{Terminal: t}
	}
	if s.Misplaced() && o.Terminal == outcome.NotTerminal {
		return Effect{} // sent before the address was known to be wrong
	}
	if o.Reason == outcome.ReasonStreamStall && !r.StallCools { // step 5
		s.record(now, o)
		return Effect{Written: true}
	}
	if until := s.Cooling(now); !until.IsZero() { // step 6: one failure, one step
		if o.UsedHint && o.Terminal == outcome.NotTerminal && o.Cooldown > until.Sub(now) && !r.DisableCooling {
			return s.prolong(now, o)
		}
		return Effect{Until: until, Cooldown: until.Sub(now)}
	}
	s.record(now, o)
	if t := o.Terminal; t != outcome.NotTerminal { // steps 16 and 24
		s.fall(now, t)
		return Effect{Terminal: t, Written: true, Fell: true}
	}
	alarmed := !r.ClientsOwn && s.refused(now, o)
	if o.Reason == outcome.ReasonWrongAddress && !r.DisableCooling {
		s.misplace()
		return Effect{Written: true, Misplaced: true, Alarmed: alarmed}
	}
	e := s.rest(now, o, r)
	e.Alarmed = alarmed
	return e
}

// rest cools the connection for as long as the failure asks, if it asks.
func (s *State) rest(now time.Time, o outcome.Outcome, r Rules) Effect {
	wait, refused := o.Cooldown, s.unauthorized(now, o, r) // step 18
	switch {
	case o.Reason == outcome.ReasonNotAPI:
		wait = s.page(o)
	case refused > 0:
		wait = refused
	}
	if wait <= 0 || r.DisableCooling { // step 23
		s.Until, s.Span = time.Time{}, 0
		return Effect{Written: true}
	}
	if refused == 0 { // a refused token keeps the status: it may be refreshed
		s.Status = Unavailable
	}
	if o.SetsLevel && o.Reason != outcome.ReasonConcurrencyLimited && o.Reason != outcome.ReasonNotAPI {
		s.Level = max(0, o.Level)
	}
	s.cool(now, wait)
	return Effect{Until: s.Until, Cooldown: s.Span, Written: true, Cooled: true}
}

// prolong takes over a later end that the upstream itself states. The herd must
// not prolong a cooldown beyond reason (guide §2), and asking an account before
// the time it named would be without one. The backoff level stays.
func (s *State) prolong(now time.Time, o outcome.Outcome) Effect {
	s.record(now, o)
	s.Status = Unavailable
	s.cool(now, o.Cooldown)
	return Effect{Until: s.Until, Cooldown: s.Span, Written: true, Cooled: true}
}

// Note records an error that is a model's: the connection stays as it is.
func (s *State) Note(now time.Time, o outcome.Outcome) {
	if s.Terminal() == outcome.NotTerminal && !s.Misplaced() && s.Cooling(now).IsZero() {
		s.record(now, o)
	}
}

// AuthFailures returns how many 401s in a row the next one would continue.
func (s *State) AuthFailures(now time.Time) int {
	if now.After(s.streak.until.Add(streakMax)) {
		return 0
	}
	return s.streak.n
}

// cool sets the deadline. The callers have made sure that no longer one holds.
func (s *State) cool(now time.Time, wait time.Duration) {
	s.Span = min(wait, MaxStated)
	s.Until = clock.Wall(now.Add(s.Span))
}

// Extend cools the connection because a sibling failed that leaves by the same
// address (sheet §3.11, step 12): a terminal state and a longer cooldown stay,
// the backoff level is not touched.
func (s *State) Extend(now time.Time, o outcome.Outcome, wait time.Duration, r Rules) Effect {
	if s.Terminal() != outcome.NotTerminal || s.Misplaced() || r.DisableCooling || !clock.Wall(now.Add(min(wait, MaxStated))).After(s.Cooling(now)) {
		return Effect{}
	}
	s.record(now, o)
	s.Status = Unavailable
	s.cool(now, wait)
	return Effect{Until: s.Until, Cooldown: s.Span, Written: true, Cooled: true}
}

// Succeed is clearAccountError: it forgets every error and returns whether
// there was anything to forget.
func (s *State) Succeed() bool { return s.clear() }

// Clear is the operator's reset. A terminal state stays unless force is set;
// it is lifted by new credentials and by a good connection test.
func (s *State) Clear(force bool) bool {
	if s.Terminal() != outcome.NotTerminal && !force {
		return false
	}
	return s.clear()
}

// Warm ends a cooldown, and the rest for a wrong address, because the user
// wants this connection never to rest. What was found out about it stays.
func (s *State) Warm(now time.Time) bool {
	if s.Cooling(now).IsZero() && !s.Misplaced() || s.Terminal() != outcome.NotTerminal {
		return false
	}
	s.Status, s.Until, s.Span, s.Level = Active, time.Time{}, 0, 0
	return true
}

// providerStated reports that the provider itself named the end of a cooldown: only
// that end, a clear, a new key or the provider's own figures lift it (ruling 66).
func providerStated(source string) bool {
	switch source {
	case "", sourceLadder, sourceRule:
		return false
	}
	return true
}

// OfQuota reports whether the reason is a quota that was used up, or a rate that
// was exceeded.
func OfQuota(why outcome.Reason) bool {
	switch why {
	case outcome.ReasonQuota, outcome.ReasonRateLimit, outcome.ReasonConcurrencyLimited, outcome.ReasonModelCapacity:
		return true
	}
	return false
}

// Disproved reports whether a good connection test disproves the state: a
// terminal one and an old error always, a cooldown unless it was stated; one for
// a rate only when a token was generated (ruling 66).
func Disproved(s *State, now time.Time, generated bool) bool {
	if s.Terminal() != outcome.NotTerminal || s.Cooling(now).IsZero() {
		return true
	}
	return !providerStated(s.Source) && (generated || !OfQuota(s.Reason))
}

func (s *State) clear() bool {
	if s.Clean() {
		return false
	}
	generation := s.retry.generation + 1
	*s = New()
	s.retry.generation = generation
	return true
}

// record writes the error fields.
func (s *State) record(now time.Time, o outcome.Outcome) {
	s.ErrorCode, s.ErrorType, s.Reason, s.ErrorAt = o.Status, o.ErrorType, o.Reason, clock.Wall(now)
	s.Source, s.RawHint, s.Words = source(o), o.RawHint, o.Words
	if o.Reason == outcome.ReasonStreamStall {
		s.ErrorType = "server_error"
	}
}

func source(o outcome.Outcome) string {
	switch {
	case o.HintSource != "":
		return o.HintSource
	case o.Cooldown > 0:
		return sourceLadder
	default:
		return ""
	}
}

// Restore corrects a stored state: the deadline survives, but no further than
// MaxStated from now (rulings 9, 10).
func Restore(now time.Time, s State) State {
	if s.Status != Unavailable && !s.Misplaced() && s.Terminal() == outcome.NotTerminal {
		s.Status = Active
	}
	if limit := clock.Wall(now.Add(MaxStated)); s.Until.After(limit) {
		s.Until = limit
	}
	if s.Terminal() != outcome.NotTerminal || s.Misplaced() {
		s.Until = time.Time{}
	}
	s.Span = max(0, s.Until.Sub(now))
	if s.Until.IsZero() {
		s.Span = 0
	}
	s.Level, s.Retries = max(0, s.Level), max(0, s.Retries)
	s.Refusals.Count = max(0, s.Refusals.Count)
	s.streak, s.retry, s.pages = streak{}, retryLease{}, 0
	return s
}
