package exchange

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

// comboPlan takes a request through the targets of a combo (guide §4, combos
// sheet §2). What one pass uses up is forgotten by the next; attempts, waits and
// the last failures are not.
type comboPlan struct {
	combo   *combo.Combo
	planner combo.Planner
	request combo.Request
	config  *combo.Config
	set     *settings.Settings
	plan    *combo.Plan
	walk    *combo.Walk
	refusal *combo.Refusal // why there was no plan
	pass    pass
	parts   parts
	mends   []refusal.Mend // what only the user can mend
}

// pass is one walk over all targets.
type pass struct {
	resilience.Pass
	excluded []combo.Excluded
	resting  []*combo.Target       // excluded by what time ends
	unasked  []exclusion.Exclusion // why none of them was asked
	slow     []*combo.Target       // tried after the others
}

// dispatch plans the request and makes its passes: the set and its retries. The
// selection is not redone after a wait.
func (p *comboPlan) dispatch(ctx context.Context, r *run) *ending {
	p.pass = pass{}
	if !p.planned(r) {
		return nil
	}
	r.failures, r.local = nil, nil
	if p.plan.Entry.Handler {
		return p.compose(ctx, r)
	}
	for set := 0; ; set++ {
		p.pass = pass{}
		if end := p.once(ctx, r); end != nil {
			return end
		}
		if set >= p.config.MaxSetRetries || p.pass.Stop != resilience.NotStopped || p.pass.Sent == 0 {
			return nil
		}
		if !r.sleep(ctx, ms(p.config.SetRetryDelayMs)) {
			return r.left(nil, "")
		}
	}
}

// planned makes the plan, once. Without one, refusal says why.
func (p *comboPlan) planned(r *run) bool {
	if p.plan != nil {
		return true
	}
	p.request.Now = r.Clock.Now()
	p.plan, p.refusal = p.planner.Plan(p.combo, &p.request)
	if p.refusal != nil {
		p.plan = nil
		for _, e := range p.refusal.Excluded {
			p.pass.excluded = append(p.pass.excluded, e)
			p.pass.unasked = append(p.pass.unasked, p.exclusionNow(r, e))
		}
		return false
	}
	p.config = p.plan.Config
	return true
}

// once tries the targets in their order until one answers.
func (p *comboPlan) once(ctx context.Context, r *run) *ending {
	p.walk = p.planner.Walk(p.plan, p.request)
	for p.pass.Stop == resilience.NotStopped {
		t, refused, ok := p.walk.Next()
		if !ok {
			break
		}
		if refused != nil { // a nested combo with nothing to try
			p.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
			continue
		}
		if p.defers(r, t) || t.Live.Last && len(p.pass.slow) > 0 {
			p.pass.slow = append(p.pass.slow, t)
			continue
		}
		if end := p.target(ctx, r, t); end != nil {
			return end
		}
		p.walk.Fail(t)
	}
	for _, t := range p.pass.slow {
		if p.pass.Stop != resilience.NotStopped {
			break
		}
		if end := p.target(ctx, r, t); end != nil {
			return end
		}
		p.walk.Fail(t)
	}
	if p.pass.Sent == 0 && p.pass.Stop == resilience.NotStopped {
		for _, t := range p.plan.LastResort {
			if end := p.target(ctx, r, t); end != nil {
				return end
			}
		}
	}
	return p.returned(ctx, r)
}

// rest records a target that cannot be used for now.
func (p *comboPlan) rest(r *run, t *combo.Target, now resilience.Plan) {
	p.excludeFor(r, t, now)
	p.pass.resting = append(p.pass.resting, t)
}

// returned tries the targets that rested when it was their turn and are back by
// now: the attempts in between may have taken long. Each comes back once.
func (p *comboPlan) returned(ctx context.Context, r *run) *ending {
	resting := p.pass.resting
	for p.pass.Stop == resilience.NotStopped {
		i := slices.IndexFunc(resting, func(t *combo.Target) bool {
			list, _ := p.candidates(r, t)
			return len(r.split(list).Targets) > 0
		})
		if i < 0 {
			return nil
		}
		t := resting[i]
		resting = slices.Delete(slices.Clone(resting), i, i+1)
		p.pass.excluded = slices.DeleteFunc(p.pass.excluded, func(e combo.Excluded) bool { return e.Target == t })
		if end := p.target(ctx, r, t); end != nil {
			return end
		}
		p.walk.Fail(t)
	}
	return nil
}

// target tries one target on the connections it may use.
func (p *comboPlan) target(ctx context.Context, r *run, t *combo.Target) *ending {
	if p.pass.Excludes(t) {
		p.exclude(t, exclusion.Exclusion{Reason: exclusion.Exhausted})
		return nil
	}
	list, passed := p.candidates(r, t)
	for _, one := range passed {
		if one.Reason == exclusion.KeyMissing { // the user can mend it
			r.step(control.Step{Kind: control.StepSkipped, Reason: string(one.Reason), Model: t.Model}, one.Route)
		}
	}
	if len(list) == 0 || p.config.TooSlow(*t.Usage()) {
		p.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
		return nil
	}
	now := r.split(list)
	if len(now.Targets) == 0 {
		p.rest(r, t, now)
		return nil
	}
	within, lift, stop := combo.Ceiling(ctx, p.config.TargetTimeout(p.waiting(), r.Limits.Headers))
	defer stop()
	gate, end, ok := p.gate(within, r, t, list[0])
	if !ok {
		return end
	}
	defer gate.Release()
	list[0].step.begins = lift
	return p.try(ctx, within, r, list, now)
}

// try makes the attempts at one target: on each of its connections, and then
// again where the failure may pass in a moment.
func (p *comboPlan) try(ctx, within context.Context, r *run, list []*candidate, now resilience.Plan) *ending {
	t := list[0].step.target
	var seen []combo.FailureClass
	for retry := 0; ; retry++ {
		before := len(r.failures)
		if end := r.sweep(within, p, list, &now); end != nil {
			return end
		}
		fresh := r.failures[before:]
		for i := range fresh {
			seen = append(seen, p.note(r, t, &fresh[i]))
		}
		if len(fresh) == 0 {
			p.rest(r, t, now)
			return nil
		}
		last := &fresh[len(fresh)-1]
		if p.pass.Stop == resilience.NotStopped && !combo.MayLeave(t, seen) {
			p.pass.Stop = resilience.StopProtected
		}
		if p.pass.Stop != resilience.NotStopped || !p.again(r, last, list, retry) {
			return p.leave(ctx, r, last)
		}
		if !r.sleep(ctx, ms(p.config.RetryDelayMs)) {
			return r.left(nil, "")
		}
		now = r.split(list)
	}
}

// again reports whether the same target is worth another attempt soon.
func (p *comboPlan) again(r *run, f *resilience.Failure, list []*candidate, retry int) bool {
	return resilience.RetriesTarget(f, resilience.Retries{
		Made: retry, Max: p.config.MaxRetries, Exhausted: p.full(r), FailoverFirst: p.config.FailoverExplicit,
		Last: !list[0].step.follows,
	}) && len(r.split(list).Targets) > 0
}

// leave is the pause before the next target, which only a broken gateway asks
// for (combos sheet §2.5, "fallbackDelay"), and the look at the ceilings.
func (p *comboPlan) leave(ctx context.Context, r *run, f *resilience.Failure) *ending {
	if p.pass.Stop == resilience.NotStopped {
		if d := resilience.FallbackDelay(f, ms(p.config.FallbackDelayMs)); d > 0 && !r.sleep(ctx, d) {
			return r.left(nil, "")
		}
	}
	p.pass.CheckLimits(resilience.Limits{Attempts: p.config.MaxGlobalAttempts, Time: ms(p.config.ComboTimeoutMs)},
		len(r.attempts), time.Since(r.req.Began)-r.spent.Time)
	return nil
}

// note records what a failure uses up for the rest of the pass. Those who wait
// for the gate of a round-robin target that rests now go on to the next one.
func (p *comboPlan) note(r *run, t *combo.Target, f *resilience.Failure) combo.FailureClass {
	class := p.pass.Record(t, f, p.plan.Order)
	if p.plan.Entry.Name == combo.RoundRobin && resilience.EmptiesGate(f, r.Clock.Now()) {
		key := admission.Key{Level: admission.Combo, Account: combo.GateKey(p.combo.Name, t)}
		r.Admission.Gates().Reset(func(k admission.Key) bool { return k == key })
	}
	return class
}

// gate holds a round-robin target to its share (combos sheet §1.9). Not ok means
// that there was no room; end then says whether the client left.
func (p *comboPlan) gate(ctx context.Context, r *run, t *combo.Target, c *candidate) (permit *admission.Permit, end *ending, ok bool) {
	if p.plan.Entry.Name != combo.RoundRobin {
		return nil, nil, true
	}
	permit, err := r.Admission.Gates().Acquire(ctx, ms(p.config.QueueTimeoutMs), admission.Need{
		Key: admission.Key{Level: admission.Combo, Account: combo.GateKey(p.combo.Name, t)},
		Cap: combo.GateCapacity(p.config, t), Depth: p.config.QueueDepth,
	})
	if err == nil {
		return permit, nil, true
	}
	p.exclude(t, exclusion.Exclusion{Reason: exclusion.Exhausted})
	return nil, r.heldBack(ctx, c, err), false
}

// begin makes the changes to the request that the combo asks for, and takes the
// quota-share place.
func (p *comboPlan) begin(ctx context.Context, r *run) (func(), *ending) {
	if end := r.adopt(p.combo); end != nil {
		return nil, end
	}
	return p.share(ctx, r).Release, nil
}

// share takes the quota-share place on the account that comes first (guide §4,
// qsconn). It covers the whole dispatch, waits included, and fails open.
func (p *comboPlan) share(ctx context.Context, r *run) *admission.Permit {
	if p.combo.Strategy != combo.QuotaShare || !p.planned(r) {
		return nil
	}
	for _, t := range p.plan.Order {
		if route, ok := r.Connections.Route(t.Connection); ok {
			return r.Admission.Gates().QuotaShare(ctx, p.set.QuotaShareConcurrencyLimit.Enabled, t.Connection,
				r.Admission.Caps(route).Account, ms(p.config.QueueTimeoutMs), p.config.QueueDepth)
		}
	}
	return nil
}

// waiting is the setting for cooldown waits as far as the combo takes part in
// them (guide §4: a combo can only opt out).
func (p *comboPlan) waiting() settings.ComboCooldownWait {
	s := p.set.ComboCooldownWait
	s.Enabled = s.Enabled && p.config.Waits(s)
	return s
}

func (p *comboPlan) wait(r *run) admission.Decision {
	p.mends = p.mendsNow(r)
	if !r.waits() || p.pass.Stop != resilience.NotStopped || p.mends != nil {
		return admission.Decision{Why: admission.WaitsOff}
	}
	r.spent.Client = r.patience()
	return resilience.ComboWaiting{
		Now: r.Clock.Now(), Sent: p.pass.Sent, Excluded: p.pass.unasked, Failures: r.failures, Spent: r.spent,
	}.Decide(p.waiting(), func() []exclusion.Exclusion { return p.exclusionsNow(r) })
}

func (p *comboPlan) resume(*run) {}

// mendsNow looks every target's connections up for what only the user can mend.
func (p *comboPlan) mendsNow(r *run) []refusal.Mend {
	if p.pass.Stop != resilience.NotStopped || r.local != nil {
		return nil
	}
	var excluded []resilience.Exclusion
	for _, t := range p.targets() {
		list, _ := p.candidates(r, t)
		now := r.split(list)
		if len(now.Targets) > 0 {
			return nil
		}
		for _, e := range now.Excluded {
			if !slices.ContainsFunc(excluded, func(o resilience.Exclusion) bool { return o.Conn == e.Conn }) {
				excluded = append(excluded, e)
			}
		}
	}
	return r.mends(excluded, 0)
}

// exclusionsNow looks every target up, each with its own model.
func (p *comboPlan) exclusionsNow(r *run) []exclusion.Exclusion {
	var list []exclusion.Exclusion
	for _, t := range p.plan.Order {
		candidates, _ := p.candidates(r, t)
		now := r.split(candidates)
		if len(now.Targets) > 0 {
			continue
		}
		for _, e := range now.Excluded {
			if !resilience.Unreachable(r.failures, e.Conn.ID()) {
				list = append(list, e.Exclusion)
			}
		}
	}
	return list
}

// exclusionNow is what excludes a target, looked up again, that the planner
// excluded.
func (p *comboPlan) exclusionNow(r *run, e combo.Excluded) exclusion.Exclusion {
	list, _ := p.candidates(r, e.Target)
	if now := r.split(list); len(now.Targets) == 0 && len(now.Excluded) > 0 {
		return now.Excluded[0].Exclusion
	}
	return e.Exclusion
}

// exclude records a target that is passed over in this pass.
func (p *comboPlan) exclude(t *combo.Target, why exclusion.Exclusion) {
	p.pass.excluded = append(p.pass.excluded, combo.Excluded{Target: t, Exclusion: why})
}

// excludeFor records a target none of whose connections can be used, by the one
// that is back first.
func (p *comboPlan) excludeFor(r *run, t *combo.Target, now resilience.Plan) {
	for _, e := range now.Excluded {
		if route, ok := r.Connections.Route(e.Conn.ID()); ok {
			r.skip(route, e)
		}
	}
	first := resilience.FirstExclusion(now.Excluded)
	if first == nil {
		p.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
		return
	}
	p.exclude(t, first.Exclusion)
	p.pass.unasked = append(p.pass.unasked, first.Exclusion)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
