package control

import "breakwater/resilience/admission"

// Gates returns the gates that bound how much runs at once (guide §4).
func (s *Service) Gates() *admission.Gates { return s.gates }

// Caps returns the limits of the composite gate for a connection, as they are
// set now.
func (s *Service) Caps(r *Route) admission.Caps {
	return admission.CapsFor(s.InForce(), r.Provider.ID, r.Record.MaxConcurrent, r.Record.RateLimitOverrides)
}
