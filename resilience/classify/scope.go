package classify

import (
	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// EgressFamily are the providers whose quota belongs to the outgoing address
// (guide §7, ruling 17). The environment may only shorten or empty it.
var EgressFamily = []string{"opencode", "opencode-zen", "opencode-go", "opencode-cli"}

// perModel reports whether the connection counts per model.
func (f *facts) perModel() bool { return f.PerModelQuota || compatible(f.provider) }

// scoped says how far a failure reaches (sheet §3.11, the parts that need no
// memory): a rule's word, the outgoing address, one model, or the connection.
func (f *facts) scoped(o outcome.Outcome) outcome.Outcome {
	if o.Scope != outcome.ScopeConnection || o.Permanent {
		return o
	}
	ruled := f.rule != nil && f.honoursScope()
	switch {
	case ruled && !(f.DisableCooling && f.perModel()):
		return f.egress(o)
	case f.inEgressFamily(o):
		return f.egress(o)
	case f.Model == "":
		return o
	case o.Terminal != outcome.NotTerminal:
		return o
	case f.modelScoped(o):
		return f.locked(o)
	}
	return o
}

// inEgressFamily reports whether the refusal belongs to the outgoing address.
func (f *facts) inEgressFamily(o outcome.Outcome) bool {
	family := f.opt.EgressFamily
	if family == nil {
		family = EgressFamily
	}
	return f.Status == 429 && contains(family, f.provider) && !f.DisableCooling && !o.CreditsExhausted &&
		(o.Reason == outcome.ReasonQuota || o.Reason == outcome.ReasonRateLimit)
}

func (f *facts) egress(o outcome.Outcome) outcome.Outcome {
	if f.inEgressFamily(o) {
		o.Scope = outcome.ScopeEgress
	}
	return o
}

// modelScoped reports whether the failure concerns the model alone.
func (f *facts) modelScoped(o outcome.Outcome) bool {
	switch {
	case o.Reason == outcome.ReasonNotFound && f.Status == 404:
		return true
	case f.stated.Reach == hint.ReachModel && f.Status == 429: // only some models' window is used up
		return true
	case f.provider == "claude":
		// Its quota is the account's, its faults are the model's (sheet §4.5).
		return f.Status == 404 || f.Status >= 500
	case !f.perModel():
		return false
	}
	quota := o.Reason == outcome.ReasonQuota || o.Reason == outcome.ReasonRateLimit
	switch {
	case f.Status == 401, o.Reason == outcome.ReasonConcurrencyLimited, o.Reason == outcome.ReasonServiceNotRunning:
		return false
	case f.Status == 402, f.Status == 403, f.Status == 404, f.Status == 410, f.Status == 429, f.Status >= 500:
		return true
	}
	return quota
}

// locked turns a cooldown of the connection into one of the model: the
// connection's ladder stays where it is. A bare 500 locks nothing.
func (f *facts) locked(o outcome.Outcome) outcome.Outcome {
	o.Scope = outcome.ScopeModel
	o.SetsLevel, o.Level = false, 0
	if f.Status == 500 {
		o.Cooldown = 0
	}
	return o
}
