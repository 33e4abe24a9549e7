package settings

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The bounds of modelLockout (settings sheet §1.1).
const (
	lockoutLo      = 5_000
	lockoutBaseHi  = 600_000
	lockoutMaxHi   = hour
	lockoutStepsHi = 20
	lockoutCodes   = 20 // most error codes in a patch
)

// readLockout reads the stored modelLockout over the defaults. It is more
// tolerant of switches than the rest of the tree.
func readLockout(m ModelLockout, doc map[string]any, notes *[]Correction) ModelLockout {
	flag := func(key string, at *bool) {
		v, stored := doc[key]
		on, ok := tolerantBoolean(v)
		if ok {
			*at = on
		} else if stored {
			*notes = append(*notes, Correction{"modelLockout." + key, show(v), show(*at)})
		}
	}
	number := func(key string, at *int64) {
		v, stored := doc[key]
		n := Integer(v, -1<<53, 1<<53, *at)
		if stored && show(v) != show(n) {
			*notes = append(*notes, Correction{"modelLockout." + key, show(v), show(n)})
		}
		*at = n
	}
	flag("enabled", &m.Enabled)
	flag("useExponentialBackoff", &m.UseExponentialBackoff)
	number("baseCooldownMs", &m.BaseCooldownMs)
	number("maxCooldownMs", &m.MaxCooldownMs)
	number("maxBackoffSteps", &m.MaxBackoffSteps)
	if list, ok := doc["errorCodes"].([]any); ok {
		m.ErrorCodes = nil
		for _, v := range list {
			if f, ok := v.(float64); ok && f == float64(int(f)) {
				m.ErrorCodes = append(m.ErrorCodes, int(f))
			}
		}
	}
	return m
}

func normalizeLockout(m ModelLockout) ModelLockout {
	m.BaseCooldownMs = min(max(m.BaseCooldownMs, lockoutLo), lockoutBaseHi)
	m.MaxCooldownMs = max(min(max(m.MaxCooldownMs, lockoutLo), lockoutMaxHi), m.BaseCooldownMs)
	m.MaxBackoffSteps = min(max(m.MaxBackoffSteps, 0), lockoutStepsHi)
	codes := make([]int, 0, len(m.ErrorCodes))
	for _, c := range m.ErrorCodes {
		if c >= 100 && c <= 599 && !slices.Contains(codes, c) {
			codes = append(codes, c)
		}
	}
	if m.ErrorCodes = codes; len(codes) == 0 {
		m.ErrorCodes = defaultErrorCodes()
	}
	return m
}

// PatchLockout applies the value of modelLockout in PATCH /api/settings to
// what is stored, strictly like Patch.
func PatchLockout(stored, body []byte) ([]byte, error) {
	patch, err := decodeStrict(body)
	if err != nil {
		return nil, err
	}
	var errs []FieldError
	for _, key := range sortedKeys(patch) {
		if patch[key] != nil {
			errs = append(errs, checkLockout(key, patch[key])...)
		}
	}
	if len(errs) > 0 {
		return nil, &PatchError{errs}
	}
	doc := decode(stored)
	if doc == nil {
		doc = map[string]any{}
	}
	for key, v := range patch {
		if v == nil {
			delete(doc, key)
		} else {
			doc[key] = v
		}
	}
	return json.Marshal(doc)
}

func checkLockout(key string, v any) []FieldError {
	path := "modelLockout." + key
	switch key {
	case "enabled", "useExponentialBackoff":
		if _, ok := v.(bool); !ok {
			return []FieldError{{path, "must be true or false"}}
		}
		return nil
	case "baseCooldownMs":
		return checkInteger(v, path, lockoutLo, lockoutBaseHi)
	case "maxCooldownMs":
		return checkInteger(v, path, lockoutLo, lockoutMaxHi)
	case "maxBackoffSteps":
		return checkInteger(v, path, 0, lockoutStepsHi)
	case "errorCodes":
		list, ok := v.([]any)
		if !ok || len(list) > lockoutCodes {
			return []FieldError{{path, fmt.Sprintf("must be a list of at most %d statuses", lockoutCodes)}}
		}
		var errs []FieldError
		for i, code := range list {
			errs = append(errs, checkInteger(code, fmt.Sprintf("%s.%d", path, i), 100, 599)...)
		}
		return errs
	default:
		return []FieldError{{path, "is not a known setting"}}
	}
}

// LockoutKeys are the leaves of modelLockout.
var LockoutKeys = []string{"enabled", "errorCodes", "baseCooldownMs", "maxCooldownMs", "maxBackoffSteps", "useExponentialBackoff"}

// LockoutOrigins returns where the value of each leaf of modelLockout comes
// from, by its path (ruling 52). No environment variable seeds them.
func LockoutOrigins(stored []byte) map[string]Origin {
	doc, out := decode(stored), map[string]Origin{}
	for _, key := range LockoutKeys {
		out["modelLockout."+key] = FromDefault
		if doc[key] != nil {
			out["modelLockout."+key] = FromStore
		}
	}
	return out
}
