package classify

import (
	"strings"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// egressFamily are the providers whose quota belongs to the outgoing address
// (guide §7, ruling 17).
var egressFamily = []string{"opencode", "opencode-zen", "opencode-go", "opencode-cli"}

// EgressProviders reads OMNIROUTE_EGRESS_IP_LOCK_PROVIDERS: empty keeps the
// family, "none", "off", "false" or "0" switches the lock off, a list shortens
// it. Widening it is a change of the code (ruling 17).
func EgressProviders(env string) []string {
	env = strings.ToLower(strings.TrimSpace(env))
	switch env {
	case "":
		return egressFamily
	case "none", "off", "false", "0":
		return []string{}
	}
	kept := []string{}
	for name := range strings.SplitSeq(env, ",") {
		if name = strings.TrimSpace(name); contains(egressFamily, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// perModel reports whether the connection counts per model.
func (f *facts) perModel() bool { return f.PerModelQuota || compatible(f.provider) }

// scoped says how far a failure reaches (sheet §3.11, the parts that need no
// memory): a rule's word, the outgoing address, one model, or the connection.
func (f *facts) scoped(o outcome.Outcome) outcome.Outcome {
	ruled := f.rule != nil && f.honoursScope()
	switch {
	case o.Scope == outcome.ScopeModel && f.Model == "":
		o.Scope = outcome.ScopeConnection // there is nothing smaller to lock
	case o.Scope == outcome.ScopeModel:
		return f.locked(o)
	case o.Scope != outcome.ScopeConnection, o.Permanent, o.Terminal != outcome.NotTerminal:
	case ruled && !(f.DisableCooling && f.perModel()), f.inEgressFamily(o):
		return f.egress(o)
	case f.Model != "" && f.modelScoped(o):
		return f.locked(o)
	}
	return o
}

// inEgressFamily reports whether the refusal belongs to the outgoing address.
func (f *facts) inEgressFamily(o outcome.Outcome) bool {
	family := f.opt.Egress
	if family == nil {
		family = egressFamily
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
	case o.Reason == outcome.ReasonNotAPI, o.Reason == outcome.ReasonWrongAddress:
		return false // the address is the connection's
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
// connection's ladder stays where it is and its rungs do not count, because a
// lock climbs by itself. A bare 500 locks nothing.
func (f *facts) locked(o outcome.Outcome) outcome.Outcome {
	o.Scope = outcome.ScopeModel
	o.SetsLevel, o.Level = false, 0
	if f.climbed {
		o.Cooldown = f.base()
	}
	if f.Status == 500 && f.rule == nil {
		o.Cooldown = 0
	}
	return o
}
