package proxy

import (
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

// ends reports whether a failure ends the request.
func (w *comboWalk) ends(f *resilience.Failure) bool {
	if w == nil {
		return resilience.EndsRequest(f)
	}
	return resilience.EndsCombo(f)
}

// record takes in what a failure uses up for the rest of the pass, and sends
// those who wait for the gate of a round-robin target that rests now to the next
// one.
func (w *comboWalk) record(t *combo.Target, f *resilience.Failure) combo.FailureClass {
	class := w.pass.Record(t, f, w.plan.Order)
	if w.plan.Entry.Name == combo.RoundRobin && resilience.EmptiesGate(f, w.x.s.svc.Now()) {
		key := admission.Key{Level: admission.Combo, Account: combo.GateKey(w.combo.Name, t)}
		w.x.s.svc.Gates().Reset(func(k admission.Key) bool { return k == key })
	}
	return class
}

// exclude records a target that is passed over in this pass.
func (w *comboWalk) exclude(t *combo.Target, why exclusion.Exclusion) {
	w.pass.excluded = append(w.pass.excluded, combo.Excluded{Target: t, Exclusion: why})
}

// excludeFor records a target none of whose connections can be used, by the one
// that is back first.
func (w *comboWalk) excludeFor(t *combo.Target, plan resilience.Plan) {
	for _, e := range plan.Excluded {
		w.x.skipTarget(e)
	}
	first := resilience.FirstExclusion(plan.Excluded)
	if first == nil {
		w.exclude(t, exclusion.Exclusion{Reason: exclusion.Unavailable})
		return
	}
	w.exclude(t, first.Exclusion)
	w.pass.unasked = append(w.pass.unasked, first.Exclusion)
}

// skipTarget puts a connection of a target that is passed over on record.
func (x *exchange) skipTarget(e resilience.Exclusion) {
	if r, ok := x.s.svc.Route(e.Conn.ID()); ok {
		x.skip(r, e)
	}
}

// exclusionNow is what excludes a target, looked up again, that the planner
// excluded.
func (w *comboWalk) exclusionNow(e combo.Excluded) exclusion.Exclusion {
	if plan := w.x.plan(w.legs(e.Target)); len(plan.Targets) == 0 && len(plan.Excluded) > 0 {
		return plan.Excluded[0].Exclusion
	}
	return e.Exclusion
}

// wait is the setting for cooldown waits as far as the combo takes part in them
// (guide §4: a combo can only opt out).
func (w *comboWalk) wait() settings.ComboCooldownWait {
	s := w.set.ComboCooldownWait
	s.Enabled = s.Enabled && w.config.Waits(s)
	return s
}

// waits decides whether the request waits and is dispatched again: before any
// attempt for what held every target back (#16319), afterwards for the first
// target that is back (guide §4).
func (w *comboWalk) waits() admission.Decision {
	s := w.wait()
	if w.x.rt.probe || w.x.s.limits.Patience < 0 || w.pass.Stop != resilience.NotStopped {
		return admission.Decision{Why: admission.WaitsOff}
	}
	w.spent.Client = w.x.patience()
	return resilience.ComboWaiting{
		Now: w.x.s.svc.Now(), Sent: w.pass.Sent, Excluded: w.pass.unasked, Failures: w.x.failures, Spent: w.spent,
	}.Decide(s, w.exclusionsNow)
}

// exclusionsNow looks every target up, each with its own model.
func (w *comboWalk) exclusionsNow() []exclusion.Exclusion {
	var list []exclusion.Exclusion
	for _, t := range w.plan.Order {
		plan := w.x.plan(w.legs(t))
		if len(plan.Targets) > 0 {
			continue
		}
		for _, e := range plan.Excluded {
			if !resilience.Unreachable(w.x.failures, e.Conn.ID()) {
				list = append(list, e.Exclusion)
			}
		}
	}
	return list
}
