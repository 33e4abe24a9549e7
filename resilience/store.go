package resilience

import (
	"time"

	"breakwater/resilience/outcome"
)

// ConnectionState is what the engine remembers of one connection and what
// survives a restart (guide §2, "Campos por conexión"; ruling 9).
type ConnectionState struct {
	ID               string
	RateLimitedUntil time.Time // zero: not cooling
	TestStatus       string    // "active", "unavailable", or a terminal state
	BackoffLevel     int
	ErrorCode        int
	LastErrorType    string
	LastErrorReason  outcome.Reason
	LastErrorAt      time.Time
	LastErrorSource  string // "header", "body", "ladder", "rule" …: what set the deadline
	RawHint          string // the upstream's own words for the deadline, for display
	ExpiredRetries   int    // guide §2, EXPIRED_RETRY_MAX (ruling 23)
	ExpiredRetryAt   time.Time
	LastErrorWords   string    // the refusal's own words, cleaned (ruling 62)
	RefusalCount     int       // plain refusals in a row, RefusedSince the first
	RefusedSince     time.Time // zero: none
	AttentionSince   time.Time // zero: no attention is needed
	AttentionWords   string    // of the refusal that needs attention
}

// BreakerState is one row of domain_circuit_breakers (sheet §1.9).
type BreakerState struct {
	Name              string // the provider's id
	State             string // CLOSED, DEGRADED, OPEN, HALF_OPEN
	FailureCount      int
	LastFailureTime   time.Time
	LastFailureKind   outcome.Kind
	OpenCycleCount    int
	KindFailureCounts map[outcome.Kind]int
	FailureThreshold  int
	ResetTimeout      time.Duration
}

// Store receives state that must survive a restart. The engine calls it after
// it has released its locks, in the order of the changes; implementations
// queue the write and return at once.
type Store interface {
	SaveConnectionState(ConnectionState)
	SaveBreaker(BreakerState)
	// DeleteBreakers forgets every stored breaker (POST /api/resilience/reset).
	DeleteBreakers()
}
