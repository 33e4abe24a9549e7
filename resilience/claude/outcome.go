package claude

// Outcome is how an attempt at the limit reset ended.
type Outcome string

// The closed set (Claude sheet §2.4). The first three let the request be
// repeated at full speed.
const (
	OutcomeReset          Outcome = "reset"
	OutcomeNotLimited     Outcome = "not_limited"
	OutcomeRecentReset    Outcome = "recent_reset" // no call was made
	OutcomeMemoSkip       Outcome = "memo_skip"    // no call was made
	OutcomeNoStatus       Outcome = "no_status"
	OutcomeNotOffered     Outcome = "not_offered"
	OutcomeNoOrganization Outcome = "no_organization"
	OutcomeAlreadyUsed    Outcome = "already_used"
	OutcomeCooldown       Outcome = "cooldown"
	OutcomeIneligible     Outcome = "ineligible"
	OutcomeUnavailable    Outcome = "unavailable"
	OutcomeRateLimited    Outcome = "rate_limited"
	OutcomeAuthError      Outcome = "auth_error"
	OutcomeError          Outcome = "error"
)

// Granted reports whether the limit is gone.
func (o Outcome) Granted() bool {
	return o == OutcomeReset || o == OutcomeNotLimited || o == OutcomeRecentReset
}

// asked reports whether the upstream was asked, so that there is something to
// remember.
func (o Outcome) asked() bool { return o != OutcomeRecentReset && o != OutcomeMemoSkip }

// weekly reports whether the next try waits for a date, a week when the
// upstream names none (ruling 19); after anything else it waits errorMemo.
func (o Outcome) weekly() bool {
	switch o {
	case OutcomeReset, OutcomeNotLimited, OutcomeAlreadyUsed, OutcomeNotOffered:
		return true
	default:
		return false
	}
}

// claimed turns the result of a claim into an outcome.
func claimed(result string) Outcome {
	switch o := Outcome(result); o {
	case OutcomeReset, OutcomeAlreadyUsed, OutcomeNotLimited, OutcomeCooldown, OutcomeIneligible:
		return o
	default:
		return OutcomeUnavailable
	}
}
