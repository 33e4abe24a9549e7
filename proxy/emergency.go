package proxy

import (
	"slices"
	"strings"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
)

// emergency asks a free model when the accounts are out of money (guide,
// "Fallback de emergencia"): once a request, never with tools, and only where
// there is a connection for it. It reports whether the client was answered.
func (x *exchange) emergency() bool {
	set := x.s.svc.InForce().EmergencyFallback
	last := x.lastFailure()
	if !set.Enabled || last == nil || x.body.Tools > 0 || x.rt.probe || x.side != nil || !last.OutOfCredit() {
		return false
	}
	provider, _, _ := strings.Cut(set.Model, "/")
	choices, _ := x.s.svc.Choose(x.ask(set.Model))
	choices = slices.DeleteFunc(choices, func(c control.Choice) bool { return c.Route.Provider.ID != provider })
	if len(choices) == 0 {
		return false
	}
	raw, err := x.rt.dialect.Apply(x.body.Raw, dialect.Edit{MaxOutput: set.MaxOutputTokens})
	if err != nil {
		return false
	}
	body, err := dialect.ReadBody(raw)
	if err != nil {
		return false
	}
	own := x.body
	x.body = body
	defer func() { x.body = own }()
	legs := legsOf(choices)
	plan := x.plan(legs)
	return x.sweep(x.r.Context(), legs, &plan) == ended
}
