package classify

import (
	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// SourceQuota is the HintSource of a cooldown that lasts until a quota window,
// known from earlier answers, comes back.
const SourceQuota = "quota"

// knownReset puts the end of the account's used-up quota window in the place of
// a guess (sheet §3.11, step 17). What the upstream states now, a rule and the
// operator's own delay know better; a fault of the server and a refused
// credential have nothing to do with it.
func (f *facts) knownReset(o outcome.Outcome) outcome.Outcome {
	switch {
	case f.QuotaReset <= 0, o.Scope != outcome.ScopeConnection, o.Terminal != outcome.NotTerminal, o.Permanent:
	case f.Status >= 500, f.Status == 401, o.Reason != outcome.ReasonQuota && o.Reason != outcome.ReasonRateLimit:
	case o.UsedHint, o.HintSource != "", o.Reason == outcome.ReasonRateLimit && f.delay() > 0:
	default:
		o.Cooldown, o.HintSource = min(f.QuotaReset, hint.MaxStated), SourceQuota
		if f.climbed { // it was no guess after all
			o.SetsLevel, o.Level = false, 0
		}
	}
	return o
}
