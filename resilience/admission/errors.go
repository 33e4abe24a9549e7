package admission

import (
	"errors"
	"time"
)

// Code names a refusal of this package on the wire.
type Code string

// The codes (sheet §4.2 and §5.2).
const (
	SemaphoreTimeout   Code = "SEMAPHORE_TIMEOUT"
	SemaphoreQueueFull Code = "SEMAPHORE_QUEUE_FULL"
	SemaphoreReset     Code = "SEMAPHORE_RESET"

	QueueFull        Code = "RATE_LIMIT_QUEUE_FULL"
	QueueTimeout     Code = "RATE_LIMIT_QUEUE_TIMEOUT"
	QueueWedged      Code = "RATE_LIMIT_QUEUE_WEDGED"
	ExecutionTimeout Code = "RATE_LIMIT_EXECUTION_TIMEOUT"
)

// The error types that go with the codes.
const (
	TypeSemaphore = "account_semaphore_capacity"
	TypeQueue     = "local_queue_capacity"
)

// Error is a refusal of our own: no upstream was asked. It never counts for
// breaker, cooldown or lockout (ruling 38); Local finds it with one check.
type Error struct {
	Code    Code
	Message string // names the proxy, so that nobody takes it for the upstream's (#4165)
	// RetryAfter is when asking again makes sense; zero: unknown.
	RetryAfter time.Duration
	// Elsewhere tells that waiting here cannot help, but another connection may
	// serve the request now (P12). A refusal without it ends the request when it
	// comes from the queue (sheet §2.5); a semaphore's always leads to the next
	// account or target, without marks (sheet §9.6).
	Elsewhere bool
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is makes two refusals with one code equal.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Status returns the HTTP status that the sheet gives the code. What the client
// is told in the end is its profile's affair (ruling 41).
func (e *Error) Status() int {
	switch e.Code {
	case QueueTimeout, QueueWedged:
		return 503
	case ExecutionTimeout:
		return 504
	default:
		return 429
	}
}

// Type returns the error type that goes with the code.
func (e *Error) Type() string {
	if e.Semaphore() {
		return TypeSemaphore
	}
	return TypeQueue
}

// Semaphore reports that a gate refused, not the queue.
func (e *Error) Semaphore() bool {
	switch e.Code {
	case SemaphoreTimeout, SemaphoreQueueFull, SemaphoreReset:
		return true
	default:
		return false
	}
}

// Local returns the refusal of this package in err's chain, if there is one.
func Local(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
