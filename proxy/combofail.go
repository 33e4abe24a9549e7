package proxy

import (
	"net/http"
	"strconv"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// ends reports whether a failure ends the request: outside combos every one
// that no other connection would mend; in a combo only what every target would
// refuse (combos sheet §2.5).
func (w *comboWalk) ends(f *failure) bool {
	if w == nil {
		return !f.outcome.Fallback
	}
	switch f.outcome.Status {
	case http.StatusBadRequest:
		return classify.OnBadRequest(f.body) == classify.StopHere
	case http.StatusNotFound, http.StatusUnprocessableEntity:
		return false
	}
	return !f.outcome.Fallback
}

// blames reports whether the upstream is to blame.
func blames(f *failure) bool {
	o := &f.outcome
	return o.Class == outcome.Failure && o.Scope != outcome.ScopeRequest && o.Scope != outcome.ScopeLocal &&
		o.Reason != outcome.ReasonQuota && o.Reason != outcome.ReasonEmptyAnswer
}

// note records what a failure uses up for the rest of the pass.
func (w *comboWalk) note(t *combo.Target, f *failure) combo.FailureClass {
	class := classOf(f)
	mark := class
	if class == combo.MarksProvider {
		// Quota is an account's: the others of its provider may have some left.
		mark = combo.MarksConnection
		if f.route.PerModelQuota() {
			mark = combo.MarksNothing
		}
	}
	w.pass.used.Mark(combo.Failure{
		Target: t, Connection: f.route.Record.ID, Class: mark, PerModelQuota: f.route.PerModelQuota(),
		Status: f.outcome.Status,
	})
	if spoils(f) {
		if w.pass.spoilt == nil {
			w.pass.spoilt = map[string]bool{}
		}
		w.pass.spoilt[t.Model] = true
		if f.outcome.Status == http.StatusBadRequest && classify.OnBadRequest(f.body) == classify.AdvanceLarger && w.sameModelLeft(t) {
			w.stop = stopRequest
		}
	}
	w.compare(f)
	w.dismiss(t, f)
	return class
}

// classOf says what a failure means for the rest of the pass.
func classOf(f *failure) combo.FailureClass {
	o := &f.outcome
	switch {
	case f.code == codeEarlyEOF, f.code == codeNotReady:
		return combo.MarksConnection
	case o.Class != outcome.Failure, o.Scope == outcome.ScopeRequest, o.Scope == outcome.ScopeLocal,
		o.Reason == outcome.ReasonEmptyAnswer:
		return combo.MarksNothing
	case o.Reason == outcome.ReasonQuota, o.Status == http.StatusPaymentRequired:
		return combo.MarksProvider
	case o.Status == http.StatusTooManyRequests:
		return combo.MarksTransient
	case o.Status == http.StatusNotFound, o.Status == http.StatusUnprocessableEntity, o.Status == statusOverloaded:
		return combo.MarksNothing
	}
	return combo.MarksConnection
}

const (
	statusOverloaded = 529
	codeNotReady     = "STREAM_READINESS_TIMEOUT"
)

// spoils reports whether the failure is this request's on this model: another
// target with the same one would answer alike.
func spoils(f *failure) bool {
	return f.outcome.Class == outcome.Neutral && f.outcome.Scope != outcome.ScopeLocal || f.code == combo.CodeTargetTimeout
}

// sameModelLeft reports whether all targets behind t have its model.
func (w *comboWalk) sameModelLeft(t *combo.Target) bool {
	behind := false
	for _, o := range w.plan.Order {
		if behind && o.ModelID() != t.ModelID() {
			return false
		}
		behind = behind || o == t
	}
	return behind
}

// compare ends the pass when the same failure comes again and again.
func (w *comboWalk) compare(f *failure) {
	key := string(f.outcome.Reason) + "\x00" + strconv.Itoa(f.outcome.Status) + "\x00" + string(f.body)
	if key != w.pass.last || len(f.body) == 0 {
		w.pass.last, w.pass.alike = key, 0
	}
	w.pass.alike++
	if w.pass.alike >= maxAlike && spoils(f) && w.stop == "" {
		w.stop = stopAlike
	}
}

// dismiss sends those who wait for the gate of a round-robin target that rests
// now to the next one: they would be let in only to be turned away.
func (w *comboWalk) dismiss(t *combo.Target, f *failure) {
	left := f.until.Sub(w.x.s.svc.Now())
	if w.plan.Entry.Name != combo.RoundRobin || left <= 0 {
		return
	}
	switch f.outcome.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		key := admission.Key{Level: admission.Combo, Account: combo.GateKey(w.combo.Name, t)}
		w.x.s.svc.Gates().Reset(func(k admission.Key) bool { return k == key })
	}
}

// exclude records a target that is passed over in this pass.
func (w *comboWalk) exclude(t *combo.Target, why combo.Hold, until time.Time) {
	w.pass.excluded = append(w.pass.excluded, combo.Excluded{Target: t, Reason: why, Until: until})
}

// excludeFor records a target none of whose connections can be used, by the one
// that is back first.
func (w *comboWalk) excludeFor(t *combo.Target, plan resilience.Plan) {
	var first *resilience.Exclusion
	for i := range plan.Excluded {
		e := &plan.Excluded[i]
		w.x.skipTarget(*e)
		if first == nil || first.Until.IsZero() || !e.Until.IsZero() && e.Until.Before(first.Until) {
			first = e
		}
	}
	if first == nil {
		w.exclude(t, combo.Unavailable, time.Time{})
		return
	}
	w.exclude(t, control.HoldOf(first.Reason), first.Until)
	w.pass.holds = append(w.pass.holds, w.x.holdOf(*first))
}

// skipTarget puts a connection of a target that is passed over on record.
func (x *exchange) skipTarget(e resilience.Exclusion) {
	if r, ok := x.s.svc.Route(e.Conn.ID()); ok {
		x.skip(r, e)
	}
}

// holdOfTarget is what keeps a target back that the planner excluded.
func (w *comboWalk) holdOfTarget(t *combo.Target, e combo.Excluded) admission.Hold {
	if plan := w.x.plan(w.legs(t)); len(plan.Targets) == 0 && len(plan.Excluded) > 0 {
		return w.x.holdOf(plan.Excluded[0])
	}
	return admission.Hold{Reason: string(e.Reason), Left: e.Until.Sub(w.x.s.svc.Now())}
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
	if w.x.rt.probe || w.x.s.limits.Patience < 0 || w.stop != "" {
		return admission.Decision{Why: admission.WaitsOff}
	}
	w.spent.Client = w.x.patience()
	if w.pass.sent == 0 {
		return admission.BeforeDispatch(w.pass.holds, w.spent, s).Decision
	}
	if w.x.isBack() {
		return admission.Decide("transient", admission.WaitMargin, w.spent, s)
	}
	hint, told := w.hint()
	if !told {
		return admission.Decision{Why: admission.NothingToWait}
	}
	return admission.AfterDispatch(w.holdsNow, hint, w.spent, s)
}

// hint is the earliest moment at which a failed target asked to be tried again.
func (w *comboWalk) hint() (first time.Duration, told bool) {
	now := w.x.s.svc.Now()
	for i := range w.x.failures {
		left := w.x.failures[i].until.Sub(now)
		if left > 0 && (!told || left < first) {
			first, told = left, true
		}
	}
	return first, told
}

// holdsNow looks every target up, each with its own model.
func (w *comboWalk) holdsNow() []admission.Hold {
	var holds []admission.Hold
	for _, t := range w.plan.Order {
		plan := w.x.plan(w.legs(t))
		if len(plan.Targets) > 0 {
			continue
		}
		for _, e := range plan.Excluded {
			if w.x.unreachable(e.Conn) {
				continue
			}
			h := w.x.holdOf(e)
			if h.Reason == admission.CircuitOpen {
				h.Reason = "transient" // it passes by itself, as before any attempt
			}
			holds = append(holds, h)
		}
	}
	return holds
}
