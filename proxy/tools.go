package proxy

import (
	"net/http"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/quota"
)

// maxTools is how many tools this target's provider takes, 0 when the request
// has no more (guide, "Detección dinámica del límite de herramientas"). The
// usual limit is that of the OpenAI APIs; an Anthropic request is only cut once
// its provider has refused one for it.
func (t *attempt) maxTools() int {
	limits, provider := t.x.s.svc.ToolLimits(), t.route.Provider.ID
	if t.x.body.Tools == 0 {
		return 0
	}
	limit := limits.Limit(provider, t.x.s.svc.Now())
	if t.x.body.Tools <= limit || t.x.rt.dialect == dialect.Anthropic && !limits.Learned(provider, t.x.s.svc.Now()) {
		return 0
	}
	return limit
}

// fewerTools learns from a refusal for too many tools, and reports whether the
// same target takes the request with fewer.
func (t *attempt) fewerTools(status int, body []byte) bool {
	if status != http.StatusBadRequest || t.x.body.Tools == 0 || t.trimmed {
		return false
	}
	if !t.x.s.svc.ToolLimits().Learn(t.route.Provider.ID, status, string(body), t.x.s.svc.Now()) {
		return false
	}
	t.trimmed = true
	t.reopening.Made-- // no recovery of a broken stream
	t.x.step(control.Step{Kind: control.StepFailed, Reason: "too_many_tools", Status: status, Model: t.model}, t.route)
	return t.maxTools() > 0
}

// degrade takes the wish to run in the background out of a Responses request:
// it is answered while the client waits (guide, "Degradación del modo en
// segundo plano"). It reports false when the request was refused.
func (x *exchange) degrade() bool {
	if x.rt.dialect != dialect.Responses || x.body.Background == "" {
		return true
	}
	d := quota.DegradeBackground(x.body.Background)
	if d.Warn {
		x.s.log.Warn(quota.BackgroundDegrade, "model", x.body.Model, "provider", "any") //nolint:sloglint // the guide gives the word
	}
	return !d.Strip || x.amend(dialect.Edit{Background: true})
}
