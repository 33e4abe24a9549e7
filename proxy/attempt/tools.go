package attempt

import (
	"net/http"

	"breakwater/proxy/control"
)

// maxTools is how many tools this target's provider takes, 0 when the request
// has no more (guide, "Detección dinámica del límite de herramientas"). The
// usual limit is that of the OpenAI APIs; an Anthropic request is only cut once
// its provider has refused one for it.
func (a *attempt) maxTools() int {
	if a.req.Body.Tools == 0 {
		return 0
	}
	limits, provider, now := a.Services.ToolLimits(), a.target.Route.Provider.ID, a.Services.Now()
	limit := limits.Limit(provider, now)
	if a.req.Body.Tools <= limit || !a.req.Dialect.Traits().ToolLimit && !limits.Learned(provider, now) {
		return 0
	}
	return limit
}

// fewerTools learns from a refusal for too many tools, and reports whether the
// same target takes the request with fewer.
func (a *attempt) fewerTools(status int, body []byte) bool {
	if status != http.StatusBadRequest || a.req.Body.Tools == 0 || a.trimmed {
		return false
	}
	if !a.Services.ToolLimits().Learn(a.target.Route.Provider.ID, status, string(body), a.Services.Now()) {
		return false
	}
	a.trimmed = true
	a.reopening.Made-- // no recovery of a broken stream
	a.watch.Step(control.Step{Kind: control.StepFailed, Reason: "too_many_tools", Status: status, Model: a.target.Model})
	return a.maxTools() > 0
}
