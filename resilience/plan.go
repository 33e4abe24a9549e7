package resilience

import (
	"time"

	"breakwater/resilience/exclusion"
)

// Candidate is a connection that could serve a request by its dialect and
// model, in the caller's order of preference.
type Candidate struct {
	Conn  *Conn
	Model string // the model's name at this upstream
}

// Target is a candidate that may be tried now.
type Target = Candidate

// Exclusion is a candidate that is not tried, and why.
type Exclusion struct {
	Candidate
	exclusion.Exclusion
}

// Plan is the answer to "whom to try": targets in order, and every other
// candidate with the reason why not.
type Plan struct {
	Targets  []Target
	Excluded []Exclusion
}

// Earliest returns the first moment at which one of the exclusions ends by
// itself, or the zero time when none does.
func (p Plan) Earliest() time.Time {
	var first time.Time
	for _, x := range p.Excluded {
		if !x.Until.IsZero() && (first.IsZero() || x.Until.Before(first)) {
			first = x.Until
		}
	}
	return first
}
