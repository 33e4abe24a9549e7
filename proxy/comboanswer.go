package proxy

import (
	"slices"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
)

// giveUp ends the request.
func (w *comboWalk) giveUp() {
	x := w.x
	c := w.unserved()
	if x.r.Context().Err() == nil && x.side == nil && w.leads() {
		wait, _ := c.NextTry()
		x.s.svc.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(x.rt.dialect), Combo: w.combo.Name, Until: untilStep(wait)})
	}
	x.act.FailedOver = false
	if f := resilience.ForwardableFromCombo(x.failures, w.pass.Stop); f != nil {
		x.forward(*f, false)
		return
	}
	if line := c.ExclusionLog(); line != "" && w.combo.Strategy == combo.Weighted {
		x.s.log.Warn(line, "combo", w.combo.Name) //nolint:sloglint // the guide gives the line
	}
	x.reply(x.asked().Combo(c))
}

// unserved is how the request went.
func (w *comboWalk) unserved() *refusal.Combo {
	c := &refusal.Combo{
		Name: w.combo.Name, Stop: w.pass.Stop, Attempts: w.tried, Sent: w.pass.Sent, Refusal: w.refusal,
		Failures: w.x.failures, Excluded: w.pass.excluded, Local: w.x.local, Now: w.x.s.svc.Now(),
		Before: admission.BeforeDispatch(w.x.s.svc.Now(), w.pass.unasked, w.spent, w.wait()),
	}
	if w.plan != nil {
		c.Planned, c.PoolSize = true, len(w.plan.Order)+len(w.plan.LastResort)
	}
	return c
}

// leads reports whether the combo leads to any connection. One that does not is
// misnamed and not out of connections, which its answer says: no notification.
func (w *comboWalk) leads() bool {
	var targets []*combo.Target
	if w.plan != nil {
		targets = w.plan.Order
	}
	if w.refusal != nil {
		for _, e := range w.refusal.Excluded {
			targets = append(targets, e.Target)
		}
	}
	return slices.ContainsFunc(targets, w.x.s.svc.Leads)
}
