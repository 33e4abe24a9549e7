package combo

import (
	"errors"
	"fmt"
	"time"

	"breakwater/resilience/exclusion"
)

// Code is the code of a refused change to a combo (settings sheet §2.14).
type Code string

// The codes.
const (
	BadJSON        Code = "COMBO_001"
	BadSchema      Code = "COMBO_002"
	BadTiers       Code = "COMBO_003"
	NameTaken      Code = "COMBO_004"
	CycleOrDepth   Code = "COMBO_005"
	Managed        Code = "COMBO_006" // quota-share combos are managed elsewhere
	NotFound       Code = "COMBO_007"
	Invariant      Code = "COMBO_008"
	Internal       Code = "INTERNAL_001"
	ShadowsModel        = "COMBO_NAME_SHADOWS_MODEL" // a warning, no error
	maxNameLength       = 100
	maxSteps            = 1000
	maxDescription      = 2000
)

// Error is a change to a combo that was refused.
type Error struct {
	Code    Code
	Message string
	Issues  []Issue // of a schema error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Status returns the HTTP status that goes with the code.
func (e *Error) Status() int {
	switch e.Code {
	case Managed:
		return 409
	case NotFound:
		return 404
	case Internal:
		return 500
	default:
		return 400
	}
}

// Is makes two errors of one code equal.
func (e *Error) Is(target error) bool {
	var o *Error
	return errors.As(target, &o) && o.Code == e.Code
}

func fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Excluded is a target that could not be tried, and why (guide, "Depuración":
// diagnostics.excluded).
type Excluded struct {
	Target *Target
	exclusion.Exclusion
}

// Refusal is the answer to a request that no target gets.
type Refusal struct {
	Status     int
	Code       string
	Type       string
	Message    string
	Terminal   string        // terminalReason of the diagnostics
	RetryAfter time.Duration // rounded up to seconds, 0: none
	Excluded   []Excluded
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// The terminal reasons.
const (
	AllCoolingDown   = "all_targets_cooling_down"
	NoExecutable     = "no_executable_targets"
	ContextExhausted = "context_requirements_exhausted"
)

func noTargets(message string) *Refusal {
	return &Refusal{
		Status: 404, Code: "model_not_found", Type: "invalid_request_error",
		Message: message, Terminal: NoExecutable,
	}
}

// EmptyPool answers a request whose every target was excluded before the first
// attempt (sheet §2.9): 503 with the shortest wait when a timer ends one of the
// exclusions, 404 when none does.
func EmptyPool(now time.Time, excluded []Excluded) *Refusal {
	var first time.Time
	temporary := false
	for _, x := range excluded {
		if !x.Reason.Temporary() {
			continue
		}
		temporary = true
		if !x.Until.IsZero() && (first.IsZero() || x.Until.Before(first)) {
			first = x.Until
		}
	}
	if !temporary {
		r := noTargets("No target of this combo can be used: none is configured to run, or every account failed its check.")
		r.Excluded = excluded
		return r
	}
	wait := time.Second
	if first.After(now) {
		wait = max(wait, (first.Sub(now) + time.Second - 1).Truncate(time.Second))
	}
	return &Refusal{
		Status: 503, Code: AllCoolingDown, Type: "service_unavailable", Terminal: AllCoolingDown,
		Message:    "Every target of this combo is pausing after errors; the first is back soon.",
		RetryAfter: wait, Excluded: excluded,
	}
}
