package claude

import (
	"math"
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/hint"
)

// unifiedPrefix begins the response headers of a subscription's windows.
const unifiedPrefix = "anthropic-ratelimit-unified-"

// name is one of the headers that mean something to us.
type name uint8

const (
	status name = iota
	reset
	fiveStatus
	fiveReset
	fiveUsed
	weekStatus
	weekReset
	weekUsed
	someStatus
	someReset
	someUsed
	claim
	overageStatus
	overageInUse
	slowOffer
	slowStatus
	slowRetryAfter
	slowMaxWait
	slowUsed
	slowReset
	names
)

// suffixes are the names behind the prefix (Claude sheet §1.2, §4.4).
var suffixes = map[string]name{
	"status": status, "reset": reset,
	"5h-status": fiveStatus, "5h-reset": fiveReset, "5h-utilization": fiveUsed,
	"7d-status": weekStatus, "7d-reset": weekReset, "7d-utilization": weekUsed,
	"7d_oi-status": someStatus, "7d_oi-reset": someReset, "7d_oi-utilization": someUsed,
	"representative-claim": claim, "overage-status": overageStatus, "overage-in-use": overageInUse,
	"slow-offer": slowOffer, "slow-status": slowStatus, "slow-retry-after": slowRetryAfter,
	"slow-max-wait": slowMaxWait, "slow-budget-utilization": slowUsed, "slow-budget-reset": slowReset,
}

const longestSuffix = 24

// unified holds the trimmed values of a response; a blank one is absent.
type unified [names]string

// readUnified takes the headers of interest out of a response, ignoring case.
// When one name comes in two spellings the same one wins every time.
func readUnified(h map[string][]string) unified {
	var values, keys unified
	for k, list := range h {
		n, ok := named(k)
		if !ok || keys[n] != "" && keys[n] < k {
			continue
		}
		if v := firstValue(list); v != "" {
			values[n], keys[n] = v, k
		}
	}
	return values
}

func firstValue(list []string) string {
	for _, v := range list {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

// named finds the header without allocating: this runs on every answer.
func named(key string) (name, bool) {
	n := len(key) - len(unifiedPrefix)
	if n <= 0 || n > longestSuffix || !strings.EqualFold(key[:len(unifiedPrefix)], unifiedPrefix) {
		return 0, false
	}
	var lower [longestSuffix]byte
	for i := range n {
		c := key[len(unifiedPrefix)+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	found, ok := suffixes[string(lower[:n])]
	return found, ok
}

// IsUnified reports whether a response header speaks of the subscription's
// windows, ignoring case: those are taken off a refusal that the client should
// wait out (ruling 42).
func IsUnified(header string) bool {
	return len(header) >= len(unifiedPrefix) && strings.EqualFold(header[:len(unifiedPrefix)], unifiedPrefix)
}

// number reads a figure: finite and not negative, or absent.
func (u *unified) number(n name) (float64, bool) {
	f, err := strconv.ParseFloat(u[n], 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, false
	}
	return f, true
}

// seconds reads a span, clamped before it can overflow.
func (u *unified) seconds(n name, low, high time.Duration) (time.Duration, bool) {
	f, ok := u.number(n)
	if !ok {
		return 0, false
	}
	return time.Duration(max(low.Seconds(), min(high.Seconds(), f)) * float64(time.Second)), true
}

// share reads a part of one.
func (u *unified) share(n name) (float64, bool) {
	f, ok := u.number(n)
	return min(f, 1), ok
}

// moment reads a reset; the zero time when there is none.
func (u *unified) moment(list ...name) time.Time {
	for _, n := range list {
		if at, ok := hint.ParseInstant(u[n]); ok {
			return at
		}
	}
	return time.Time{}
}
