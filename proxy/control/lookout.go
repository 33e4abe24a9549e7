package control

import (
	"time"

	"breakwater/resilience"
	"breakwater/resilience/breaker"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/quota"
)

// look writes what is known of a target at this moment. A target that may go
// to several connections shows the first that can be used, else the one that
// is back first.
func (p *planning) look(now time.Time, t *combo.Target) {
	if t.Kind == combo.KindRef {
		return // its own plan will tell
	}
	into := &t.Live
	at, ok := t.Data.(*comboPlace)
	if !ok || len(at.routes) == 0 || at.opaque {
		into.Reason = exclusion.Unavailable
		return
	}
	var best seen
	for i, r := range at.routes {
		x := p.s.see(now, r, at.model)
		if i == 0 || x.better(&best) {
			best = x
		}
		if best.free() && !best.last {
			break
		}
	}
	into.Last = best.last
	into.Exclusion, into.Breaker, into.Cutoff = best.Exclusion, best.breaker, best.verdict.Block
	into.Account.SoftQuota = best.verdict.Warn
	into.Account.BadStatus = !best.Excludes() && best.level > 0
	into.InFlight = int(best.route.Use.InFlight.Load())
	if best.known != nil {
		into.Quota = at.quotaOf(best.known)
		into.Account.ResetAt = into.Quota.Monthly.Reset
	}
}

// renew has the windows of a target's connection asked for beside the traffic,
// where that can be done; all others are told by answers alone.
func (p *planning) renew(t *combo.Target) {
	if r, ok := p.s.Route(t.Connection); ok && isClaude(r.Provider) {
		p.s.askUsage(r)
	}
}

// seen is what is known of one connection for one model.
type seen struct {
	route *Route
	exclusion.Exclusion
	breaker combo.Breaker
	level   int
	last    bool // needs attention
	known   *quota.Snapshot
	verdict quota.Verdict
}

func (s *Service) see(now time.Time, r *Route, model string) seen {
	look := s.engine.Look(now, resilience.Candidate{Conn: r.Conn, Model: model})
	x := seen{
		route: r, Exclusion: look.Exclusion, breaker: breakerOf(look.Breaker), level: look.Level, last: look.Last,
		known: s.quota.Get(r.Record.ID),
	}
	if x.known != nil {
		x.verdict = quota.Preflight(now, &s.InForce().QuotaPreflight, r.QuotaAccount(), model, x.known)
	}
	return x
}

// free reports that the connection can be used without a second thought.
func (x *seen) free() bool {
	return !x.Excludes() && !x.verdict.Block && !x.route.keyMissing()
}

// better reports whether x is to be shown in place of o.
func (x *seen) better(o *seen) bool {
	switch {
	case x.free() != o.free():
		return x.free()
	case x.free() && x.last != o.last:
		return o.last
	case x.route.keyMissing() != o.route.keyMissing():
		return o.route.keyMissing() // it comes back by no clock
	case x.Excludes() != o.Excludes():
		return !x.Excludes()
	case x.Reason.Temporary() != o.Reason.Temporary():
		return x.Reason.Temporary()
	default:
		return !x.Until.IsZero() && x.Until.Before(o.Until)
	}
}

// QuotaAccount is what the quota preflight must know of the connection. With a
// Claude switch on, a used up session window keeps nobody away: the refusal
// itself is needed.
func (r *Route) QuotaAccount() quota.Account {
	return quota.Account{
		Provider: r.Provider.ID, Thresholds: r.Record.QuotaWindowThresholds,
		IgnoreSession: r.Record.LowPriorityMode || r.Record.AutoLimitReset,
	}
}

func breakerOf(s breaker.State) combo.Breaker {
	switch s {
	case breaker.Degraded:
		return combo.Degraded
	case breaker.HalfOpen:
		return combo.HalfOpen
	case breaker.Open:
		return combo.Open
	case breaker.Closed:
	}
	return combo.Closed
}

// weighed is a snapshot in the form in which strategies weigh it.
type weighed struct {
	of *quota.Snapshot
	combo.Quota
}

// quotaOf returns a snapshot in the form in which strategies weigh it. The last
// one is kept: snapshots change far more seldom than they are looked at.
func (at *comboPlace) quotaOf(known *quota.Snapshot) *combo.Quota {
	w := at.weighed.Load()
	if w == nil || w.of != known {
		w = &weighed{known, weigh(known, at.model)}
		at.weighed.Store(w)
	}
	return &w.Quota
}

// weigh sorts the windows of a snapshot by what they are to a model. The window
// of the model itself counts as the weekly one when it is fuller.
func weigh(known *quota.Snapshot, model string) combo.Quota {
	q := combo.Quota{At: known.At, LimitReached: known.LimitReached}
	for i := range known.Windows {
		w := &known.Windows[i]
		to := &q.Weekly
		switch {
		case !w.Applies(model):
			continue
		case w.Kind == quota.Session:
			to = &q.Session
		case w.Kind == quota.Monthly:
			to = &q.Monthly
		}
		used := min(1, w.Used)
		if w.Rejected {
			used = 1
		}
		if !to.Known || used > to.Used {
			*to = combo.Window{Known: true, Used: used, Reset: w.ResetAt}
		}
	}
	if known.Overall != nil {
		left := 1 - *known.Overall
		q.Overall = &left
	}
	return q
}

// comboHealth tells stickiness how the connection of a session is.
type comboHealth struct{ s *Service }

// Load implements combo.Health. What is not known is not used.
func (h comboHealth) Load(connection string) (session, week float64, err error) {
	known := h.s.quota.Get(connection)
	if known == nil {
		return 0, 0, nil
	}
	now := h.s.Now()
	share := func(k quota.Kind) float64 {
		w, ok := known.Window(k)
		if left, told := w.Remaining(now); ok && told {
			return 1 - left/100
		}
		return 0
	}
	return share(quota.Session), share(quota.Weekly), nil
}

// Condition implements combo.Health.
func (h comboHealth) Condition(connection string) (combo.Condition, error) {
	r, ok := h.s.Route(connection)
	if !ok {
		return combo.Condition{Terminal: true}, nil
	}
	x := h.s.see(h.s.Now(), r, "")
	c := combo.Condition{Terminal: x.Reason.Terminal(), Exhausted: x.verdict.Block}
	if x.Reason.Temporary() {
		c.LimitedUntil = x.Until
	}
	return c, nil
}
