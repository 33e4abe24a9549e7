package attempt

import "breakwater/proxy/dialect"

// unfit reports whether a whole JSON answer does not count as one, although its
// status is good (combos sheet §2.4).
func (a *attempt) unfit(doc []byte) bool {
	d, checks := a.req.Dialect, a.target.Checks
	return checks.Empty && d.EmptyDocument(doc) || checks.OnlyReasoning && dialect.OnlyReasoned(d, doc) ||
		checks.Unfinished && d.Unfinished(doc) || checks.Validation && a.target.Valid != nil && !a.target.Valid(doc)
}
