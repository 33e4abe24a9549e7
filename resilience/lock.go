package resilience

import (
	"sort"
	"strings"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/classify"
	"breakwater/resilience/clock"
	"breakwater/resilience/lockout"
	"breakwater/resilience/outcome"
)

// reach decides how far a failure goes. The classifier's scope holds, with two
// additions: a status that modelLockout lists counts as the model's (guide §3),
// and what is the model's falls back to the connection when no model is known.
func (a *Attempt) reach(o outcome.Outcome) outcome.Scope {
	known := a.target.Model != ""
	if o.OfAddress() { // whatever the status: no model was asked
		return outcome.ScopeConnection
	}
	if a.retry || o.Terminal != outcome.NotTerminal { // the connection's, whatever the status
		return connectionAtLeast(o.Scope)
	}
	switch o.Scope {
	case outcome.ScopeModel:
		if !known {
			return outcome.ScopeConnection
		}
	case outcome.ScopeConnection, outcome.ScopeProvider:
		if known && (o.Reason == outcome.ReasonRequestRejected || a.listed(o)) {
			return outcome.ScopeModel
		}
	case outcome.ScopeRequest, outcome.ScopeLocal, outcome.ScopeEgress:
	}
	return o.Scope
}

func connectionAtLeast(s outcome.Scope) outcome.Scope {
	if s == outcome.ScopeModel {
		return outcome.ScopeConnection
	}
	return s
}

// listed reports whether the errorCodes path applies (ruling 50). An account's
// quota and a rule that names its scope stay the connection's.
func (a *Attempt) listed(o outcome.Outcome) bool {
	ml := &a.e.cfg.Load().settings.ModelLockout
	return ml.Enabled && ml.Lists(o.Status) && o.Reason != outcome.ReasonQuota && o.RuleID == ""
}

// failModel locks the model and leaves the connection active.
func (c *Conn) failModel(a *Attempt, now time.Time, o outcome.Outcome) Effect {
	e := a.e
	if c.provider.breaker.Check(now).State == breaker.Open {
		return Effect{} // a late failure of a provider that is out already
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Note(now, o)
	c.changed(e)
	before := c.until(now, a.target.Model)
	if !c.lockModel(a, now, o) {
		return Effect{}
	}
	c.publishLocks(now)
	until := c.until(now, a.target.Model)
	if until.After(before) {
		e.out.change(Change{
			At: clock.Wall(now), Kind: ChangeLockout, Provider: c.provider.name, Connection: c.id,
			To: a.target.Model, Until: until, Reason: lockReason(o),
		})
	}
	return Effect{Until: until, Cooldown: max(0, until.Sub(now))}
}

// lockModel records the failure and reports whether it may lock anything. The
// caller holds c.mu.
func (c *Conn) lockModel(a *Attempt, now time.Time, o outcome.Outcome) bool {
	model := a.target.Model
	if o.Reason == outcome.ReasonRequestRejected {
		c.locks.Reject(now, model)
		return true
	}
	f := lockout.Failure{Model: model, Status: o.Status, Reason: lockReason(o)}
	if !a.listed(o) {
		if !c.proves(now, model, o) {
			c.locked.Store(true) // a streak may have begun
			return false
		}
	}
	rules := c.cfg.Load().lock
	f.Stated = o.UsedHint && o.HintSource != classify.SourceRule || o.QuotaResetHint > 0
	switch {
	case o.UsedHint, o.HintSource == classify.SourceRule:
		// Stated waits are not capped (ruling 10), nor is what an operator's rule
		// says; the classifier has capped the built-in ones.
		f.Exact, f.Verified = o.Cooldown, true
	case o.QuotaResetHint > 0:
		f.Exact, f.Verified = o.QuotaResetHint, o.Reason == outcome.ReasonNotFound
	case o.Cooldown > rules.Base:
		f.Exact = o.Cooldown // known for this very failure, not a rung of the ladder
	case o.Reason == outcome.ReasonNotFound, o.Status >= 500 && !a.listed(o):
		// A fault of the moment must not become minutes of local refusals: the
		// ladder begins where the connection's would.
		f.Base = o.Cooldown
	}
	_, ok := c.locks.Fail(now, f, rules)
	return ok
}

// proves reports whether the failure says anything about the model (sheet
// §3.11, step 14): a bare 500 and an empty stream do not, a stream that broke
// after its first output does only when it happens again and again.
func (c *Conn) proves(now time.Time, model string, o outcome.Outcome) bool {
	switch {
	case o.HintSource == classify.SourceRule:
		return o.Cooldown > 0
	case o.Reason == outcome.ReasonTruncated, o.Reason == outcome.ReasonEmptyAnswer:
		return c.locks.Cut(now, model) && (o.Cooldown > 0 || o.Reason == outcome.ReasonTruncated)
	case o.Status == 500:
		return false
	default:
		return o.Cooldown > 0 || o.QuotaResetHint > 0
	}
}

// lockReason is the reason a lock is stored with.
func lockReason(o outcome.Outcome) string {
	switch {
	case o.Reason == outcome.ReasonRequestRejected:
		return lockout.ReasonRequestRejected
	case o.Status == 404, o.Status == 410, o.Reason == outcome.ReasonNotFound:
		return lockout.ReasonNotFound
	case o.Status == 403:
		return lockout.ReasonForbidden
	case o.Status == 402:
		return lockout.ReasonCredits
	case o.Reason == outcome.ReasonQuota:
		return lockout.ReasonQuota
	case o.Status == 429:
		return lockout.ReasonRateLimited
	case o.Reason == outcome.ReasonEmptyAnswer:
		return lockout.ReasonQuality
	default:
		return lockout.ReasonServerError
	}
}

// publishLocks makes the locks visible to planning. The caller holds c.mu.
func (c *Conn) publishLocks(now time.Time) {
	c.view.Store(c.locks.View(now))
	c.locked.Store(!c.locks.Empty())
}

// until returns the end of the model's lock. The caller holds c.mu.
func (c *Conn) until(now time.Time, model string) time.Time {
	until, _, _ := c.view.Load().Until(now, model)
	return until
}

// unlock lets a success decay the model's locks (guide §3): it halves their
// failure counts and lifts those that reach zero.
func (c *Conn) unlock(e *Engine, now time.Time, model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.until(now, model)
	if _, changed := c.locks.Succeed(model); !changed {
		return
	}
	c.publishLocks(now)
	if !before.IsZero() && c.until(now, model).IsZero() {
		c.lifted(e, now, model, "success")
	}
}

// lifted queues the change of a lock that is gone. The caller holds c.mu.
func (c *Conn) lifted(e *Engine, now time.Time, model, why string) {
	e.out.change(Change{
		At: clock.Wall(now), Kind: ChangeLockout, Provider: c.provider.name, Connection: c.id,
		From: model, Reason: why,
	})
}

// clearLocks lifts the locks of a model, or all when it is empty, and returns
// how many were active.
func (c *Conn) clearLocks(e *Engine, now time.Time, model, why string) int {
	if !c.locked.Load() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	relock(c, e, now, why, func() { n = c.locks.Clear(now, model) })
	return n
}

// relock changes the locks and tells which of them are gone. The caller holds
// c.mu.
func relock(c *Conn, e *Engine, now time.Time, why string, change func()) {
	active := c.locks.Active(now)
	change()
	c.publishLocks(now)
	for _, l := range active {
		if c.until(now, l.Model).IsZero() {
			c.lifted(e, now, l.Model, why)
		}
	}
}

// Lockout is one active model lockout, for views.
type Lockout struct {
	Provider     string
	Connection   string
	Model        string
	Reason       string
	Until        time.Time
	FailureCount int
}

// lockouts returns the active locks of a connection. The caller holds c.mu.
func (c *Conn) lockouts(now time.Time) []Lockout {
	active := c.locks.Active(now)
	if len(active) == 0 {
		return nil
	}
	list := make([]Lockout, len(active))
	for i, l := range active {
		list[i] = Lockout{Provider: c.provider.name, Connection: c.id, Model: l.Model, Reason: l.Reason, Until: l.Until, FailureCount: l.Count}
	}
	return list
}

// Lockouts returns all active model lockouts, the longest first (GET
// /api/resilience/model-cooldowns).
func (e *Engine) Lockouts() []Lockout {
	now := e.clock.Now()
	list := []Lockout{}
	for _, c := range e.allConns() {
		if c.locked.Load() {
			c.mu.Lock()
			list = append(list, c.lockouts(now)...)
			c.mu.Unlock()
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Until.After(list[j].Until) })
	return list
}

// ClearLockouts lifts model lockouts by hand and returns how many were active.
// Empty arguments match everything (ruling 27).
func (e *Engine) ClearLockouts(provider, connection, model string) int {
	defer e.out.flush()
	now, n := e.clock.Now(), 0
	for _, c := range e.allConns() {
		if provider != "" && lockout.Canonical(provider) != lockout.Canonical(c.provider.name) {
			continue
		}
		if connection == "" || strings.EqualFold(connection, c.id) {
			n += c.clearLocks(e, now, model, "reset")
		}
	}
	return n
}
