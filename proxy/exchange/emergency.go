package exchange

import (
	"context"
	"slices"
	"strings"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
)

// emergency asks a free model when the accounts are out of credit (guide,
// "Fallback de emergencia"): once a request, never with tools, and only where
// there is a connection for it.
func (r *run) emergency(ctx context.Context) *ending {
	set := r.Settings.InForce().EmergencyFallback
	last := resilience.Last(r.failures)
	if !set.Enabled || last == nil || r.sent.Body.Tools > 0 || r.req.Probe || !last.OutOfCredit() {
		return nil
	}
	provider, _, _ := strings.Cut(set.Model, "/")
	choices, _ := r.Connections.Choose(r.ask(set.Model))
	choices = slices.DeleteFunc(choices, func(c control.Choice) bool { return c.Route.Provider.ID != provider })
	if len(choices) == 0 {
		return nil
	}
	body, err := r.edited(dialect.Edit{MaxOutput: set.MaxOutputTokens})
	if err != nil {
		return nil
	}
	own := r.sent.Body
	r.use(body)
	defer r.use(own)
	p := &single{}
	p.candidates = candidatesOf(choices, &p.step)
	now := r.split(p.candidates)
	return r.sweep(ctx, p, p.candidates, &now)
}
