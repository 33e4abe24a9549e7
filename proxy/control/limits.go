package control

import (
	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
)

// Limits are the bounds that a connection has of its own, and the words by
// which requests and people choose it (settings sheet §2.10, §6.3).
type Limits struct {
	MaxConcurrent         int // requests at once, 0: no cap
	RateLimitOverrides    admission.Overrides
	QuotaWindowThresholds map[string]int64 // remaining percent by window
	RotationOverrides     classify.Overrides
	Tags                  []string // routing tags, which metadata.tags asks for
	Group                 string   // for people
}
