package settings

import (
	"math"
	"strconv"
	"strings"
)

// Lookup reads an environment variable; an empty string means unset. The core
// itself never asks the operating system.
type Lookup func(name string) string

// Integer reads a stored value as an integer within [lo, hi] (settings sheet
// §0.1): a finite number, or a text that is one as a whole, cut towards zero and
// clamped. Everything else is the fallback.
func Integer(v any, lo, hi, fallback int64) int64 {
	f, ok := number(v)
	if !ok {
		return fallback
	}
	return clampFloat(f, lo, hi)
}

func clampFloat(f float64, lo, hi int64) int64 {
	f = math.Trunc(f)
	switch {
	case f <= float64(lo):
		return lo
	case f >= float64(hi):
		return hi
	default:
		return int64(f)
	}
}

// number reads a finite number from a decoded JSON value or a text.
func number(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	case int:
		f = float64(v)
	case string:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return 0, false
		}
		f = parsed
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Boolean reads a stored switch: real booleans only.
func Boolean(v any, fallback bool) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	return fallback
}

// tolerantBoolean is the reading of modelLockout, which also takes numbers and
// the words "true" and "1".
func tolerantBoolean(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case float64:
		return v != 0, true
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "1":
			return true, true
		case "false", "0":
			return false, true
		}
	}
	return false, false
}

// envSwitch reads an environment switch; ok is false for other words. Some
// variables also know yes and no.
func envSwitch(text string, yes bool) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "on":
		return true, true
	case "false", "0", "off":
		return false, true
	case "yes":
		return yes, yes
	case "no":
		return false, yes
	default:
		return false, false
	}
}

// envInteger reads an environment number of at least least; ok is false for
// what is blank, no number, or too small.
func envInteger(text string, least int64) (int64, bool) {
	if strings.TrimSpace(text) == "" {
		return 0, false
	}
	f, ok := number(text)
	if !ok || f < float64(least) {
		return 0, false
	}
	return clampFloat(f, least, math.MaxInt32*1000), true
}

// object reads a JSON object; anything else counts as an empty one.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
