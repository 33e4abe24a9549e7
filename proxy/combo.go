package proxy

import (
	"context"
	"slices"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

// comboWalk takes a request through the targets of a combo (guide §4, combos
// sheet §2). What one pass uses up is forgotten by the next; attempts, waits
// and the last failures are not.
type comboWalk struct {
	x       *exchange
	combo   *combo.Combo
	planner combo.Planner
	request combo.Request
	config  *combo.Config
	set     *settings.Settings
	plan    *combo.Plan
	walk    *combo.Walk

	spent    admission.Spent
	attempts int
	tried    []refusal.Attempt
	pass     pass
	parts    parts
	refusal  *combo.Refusal // why there was no plan
}

// pass is one walk over all targets.
type pass struct {
	resilience.Pass
	excluded []combo.Excluded
	resting  []*combo.Target       // excluded by what time ends
	unasked  []exclusion.Exclusion // why none of them was asked
}

// runCombo answers a request for a combo.
func (x *exchange) runCombo(c *combo.Combo) {
	w := x.walkOf(c)
	x.combo, x.act.Combo = w, c.Name
	defer w.end()
	if !x.adopt(c) {
		return
	}
	defer w.share(x.r.Context()).Release()
	for {
		if w.dispatch() == ended {
			return
		}
		d := w.waits()
		if !d.Wait {
			w.giveUp()
			return
		}
		if !x.pause(d) {
			return
		}
		w.spent.Add(d.For)
	}
}

// dispatch plans the request and makes its passes: the set and its retries. The
// selection is not redone after a wait.
func (w *comboWalk) dispatch() verdict {
	w.pass = pass{}
	if !w.planned() {
		return tryNext
	}
	w.x.failures, w.x.local = nil, nil
	if w.plan.Entry.Handler {
		return w.compose()
	}
	for set := 0; ; set++ {
		w.pass = pass{}
		if w.once() == ended {
			return ended
		}
		if set >= w.config.MaxSetRetries || w.stopped() || w.pass.Sent == 0 {
			return tryNext
		}
		if !w.sleep(ms(w.config.SetRetryDelayMs)) {
			return w.left()
		}
	}
}

// planned makes the plan, once. Without one, refusal tells why.
func (w *comboWalk) planned() bool {
	if w.plan != nil {
		return true
	}
	w.request.Now = w.x.s.svc.Now()
	w.plan, w.refusal = w.planner.Plan(w.combo, &w.request)
	if w.refusal != nil {
		w.plan = nil
		for _, e := range w.refusal.Excluded {
			w.pass.excluded = append(w.pass.excluded, e)
			w.pass.unasked = append(w.pass.unasked, w.exclusionNow(e))
		}
		return false
	}
	w.config = w.plan.Config
	return true
}

// once tries the targets in their order until one answers.
func (w *comboWalk) once() verdict {
	w.walk = w.planner.Walk(w.plan, w.request)
	for !w.stopped() {
		t, refused, ok := w.walk.Next()
		if !ok {
			break
		}
		if refused != nil { // a nested combo with nothing to try
			w.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
			continue
		}
		if w.target(t) == ended {
			return ended
		}
		w.walk.Fail(t)
	}
	if w.pass.Sent == 0 && !w.stopped() {
		for _, t := range w.plan.LastResort {
			if w.target(t) == ended {
				return ended
			}
		}
	}
	return w.returned()
}

// rest records a target that cannot be used for now.
func (w *comboWalk) rest(t *combo.Target, plan resilience.Plan) {
	w.excludeFor(t, plan)
	w.pass.resting = append(w.pass.resting, t)
}

// returned tries the targets that rested when it was their turn and are back by
// now: the tries in between may have taken long. Each comes back once.
func (w *comboWalk) returned() verdict {
	resting := w.pass.resting
	for !w.stopped() {
		i := slices.IndexFunc(resting, func(t *combo.Target) bool { return len(w.x.plan(w.legs(t)).Targets) > 0 })
		if i < 0 {
			return tryNext
		}
		t := resting[i]
		resting = slices.Delete(slices.Clone(resting), i, i+1)
		w.pass.excluded = slices.DeleteFunc(w.pass.excluded, func(e combo.Excluded) bool { return e.Target == t })
		if w.target(t) == ended {
			return ended
		}
		w.walk.Fail(t)
	}
	return tryNext
}

// target tries one target on the connections it may use.
func (w *comboWalk) target(t *combo.Target) verdict {
	x := w.x
	if w.pass.Excludes(t) {
		w.exclude(t, exclusion.Exclusion{Reason: exclusion.Exhausted})
		return tryNext
	}
	legs, passed := w.ways(t)
	for _, p := range passed {
		if p.Reason == exclusion.KeyMissing { // the user can mend it
			x.step(control.Step{Kind: control.StepSkipped, Reason: string(p.Reason), Model: t.Model}, p.Route)
		}
	}
	if len(legs) == 0 || w.config.TooSlow(*t.Usage()) {
		w.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
		return tryNext
	}
	plan := x.plan(legs)
	if len(plan.Targets) == 0 {
		w.rest(t, plan)
		return tryNext
	}
	ctx, lift, stop := combo.Ceiling(x.r.Context(), w.config.TargetTimeout(w.wait(), x.s.limits.Headers))
	defer stop()
	gate, v, ok := w.gate(ctx, t, legs[0])
	if !ok {
		return v
	}
	defer gate.Release()
	for _, l := range legs {
		l.begun = lift
	}
	return w.try(ctx, t, legs, plan)
}

// try makes the attempts at one target: on each of its connections, and then
// again where the failure may pass in a moment.
func (w *comboWalk) try(ctx context.Context, t *combo.Target, legs []*leg, plan resilience.Plan) verdict {
	var seen []combo.FailureClass
	for retry := 0; ; retry++ {
		before := len(w.x.failures)
		if w.x.sweep(ctx, legs, &plan) == ended {
			return ended
		}
		fresh := w.x.failures[before:]
		for i := range fresh {
			seen = append(seen, w.record(t, &fresh[i]))
		}
		if len(fresh) == 0 {
			w.rest(t, plan)
			return tryNext
		}
		last := &fresh[len(fresh)-1]
		if !w.stopped() && !combo.MayLeave(t, seen) {
			w.pass.Stop = resilience.StopProtected
		}
		if w.stopped() || !w.again(t, last, legs, retry) {
			return w.leave(last) //nolint:contextcheck // the exchange holds the request and its context
		}
		if !w.sleep(ms(w.config.RetryDelayMs)) { //nolint:contextcheck // the exchange holds the request and its context
			return w.left()
		}
		plan = w.x.plan(legs)
	}
}

// leave is the pause before the next target and the look at the ceilings.
func (w *comboWalk) leave(f *resilience.Failure) verdict {
	delay := resilience.FallbackDelay(f, ms(w.config.FallbackDelayMs))
	if !w.stopped() && delay > 0 && !w.sleep(delay) {
		return w.left()
	}
	limits := resilience.Limits{Attempts: w.config.MaxGlobalAttempts, Time: ms(w.config.ComboTimeoutMs)}
	w.pass.CheckLimits(limits, w.attempts, time.Since(w.x.began)-w.spent.Time)
	return tryNext
}

// stopped reports whether the walk ends before its last target.
func (w *comboWalk) stopped() bool { return w.pass.Stop != resilience.NotStopped }

// full reports whether the request has used up its attempts. Outside combos
// there is no bound: every connection is asked once.
func (w *comboWalk) full() bool { return w != nil && w.attempts >= w.config.MaxGlobalAttempts }

// count counts an attempt that is about to be sent.
func (w *comboWalk) count(l *leg) {
	if w == nil {
		return
	}
	w.attempts++
	w.pass.Sent++
	w.tried = append(w.tried, refusal.Attempt{Provider: l.route.Provider.ID, Model: l.model})
}

// again reports whether the same target is worth another attempt soon.
func (w *comboWalk) again(t *combo.Target, f *resilience.Failure, legs []*leg, retry int) bool {
	r := resilience.Retries{
		Made: retry, Max: w.config.MaxRetries, Exhausted: w.full(), FailoverFirst: w.config.FailoverExplicit, Last: !w.follows(t),
	}
	return resilience.RetriesTarget(f, r) && len(w.x.plan(legs).Targets) > 0
}

// follows reports whether further targets come after t.
func (w *comboWalk) follows(t *combo.Target) bool {
	return w != nil && w.plan != nil && len(w.plan.Order) > 0 && w.plan.Order[len(w.plan.Order)-1] != t
}

// gate holds a round-robin target to its share (combos sheet §1.9). Not ok
// means that there was no room; v then tells how to go on.
func (w *comboWalk) gate(ctx context.Context, t *combo.Target, l *leg) (p *admission.Permit, v verdict, ok bool) {
	if w.plan.Entry.Name != combo.RoundRobin {
		return nil, tryNext, true
	}
	p, err := w.x.s.svc.Gates().Acquire(ctx, ms(w.config.QueueTimeoutMs), admission.Need{
		Key: admission.Key{Level: admission.Combo, Account: combo.GateKey(w.combo.Name, t)},
		Cap: combo.GateCapacity(w.config, t), Depth: w.config.QueueDepth,
	})
	if err == nil {
		return p, tryNext, true
	}
	w.exclude(t, exclusion.Exclusion{Reason: exclusion.Exhausted})
	return nil, w.x.heldBack(l, err), false
}

// share takes the quota-share place on the account that comes first (guide §4,
// qsconn). It wraps the whole dispatch, waits included, and fails open.
func (w *comboWalk) share(ctx context.Context) *admission.Permit {
	if w.combo.Strategy != combo.QuotaShare || !w.planned() {
		return nil
	}
	for _, t := range w.plan.Order {
		if r, ok := w.x.s.svc.Route(t.Connection); ok {
			return w.x.s.svc.Gates().QuotaShare(ctx, w.set.QuotaShareConcurrencyLimit.Enabled, t.Connection,
				w.x.s.svc.Caps(r).Account, ms(w.config.QueueTimeoutMs), w.config.QueueDepth)
		}
	}
	return nil
}

// end tells the plan how the request ended, whatever way it did.
func (w *comboWalk) end() {
	now := w.x.s.svc.Now()
	switch {
	case w.walk == nil && w.plan != nil:
		w.plan.Abandon(now)
	case w.walk != nil:
		w.walk.Abandon(now) // does nothing after Serve
	}
}

// served tells the strategies who answered.
func (w *comboWalk) served(t *attempt) {
	if w == nil || w.walk == nil || t.leg.target == nil {
		return
	}
	w.walk.Serve(w.x.s.svc.Now(), t.leg.target, t.route.Record.ID, w.relay())
}

// left ends the exchange of a client that went away during a pause.
func (w *comboWalk) left() verdict {
	w.x.step(control.Step{Kind: control.StepLeft}, nil)
	w.x.finish(statusClientLeft, resultLeft)
	return ended
}

// sleep pauses by the core's clock, and reports whether the client stayed.
func (w *comboWalk) sleep(d time.Duration) bool {
	return w.x.sleepUntil(w.x.r.Context(), w.x.s.svc.Now().Add(d))
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
