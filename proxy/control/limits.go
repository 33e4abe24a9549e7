package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
)

// Limits are the bounds that a connection has of its own, and the words by
// which requests and people choose it (settings sheet §2.10, §6.3).
type Limits struct {
	MaxConcurrent         int                 `json:"maxConcurrent,omitempty"` // requests at once, 0: no cap
	RateLimitOverrides    admission.Overrides `json:"rateLimitOverrides,omitzero"`
	QuotaWindowThresholds map[string]int64    `json:"quotaWindowThresholds,omitempty"` // remaining percent at which it is passed over, by window
	RotationOverrides     RotationOverrides   `json:"rotationOverrides,omitzero"`
	Tags                  []string            `json:"tags,omitempty"`  // what metadata.tags asks for
	Group                 string              `json:"group,omitempty"` // for people
	// HealthCheckInterval is how often a stored login is looked at, in minutes;
	// 0 is never, nil leaves it to credentialHealthCheck.
	HealthCheckInterval *int64 `json:"healthCheckInterval,omitempty"`
	Extras
}

// RotationOverrides are the connection's own figures for when another one is
// tried (breaker sheet §3.7). Absent fields leave the environment's in force.
type RotationOverrides struct {
	RateLimitResetSeconds int64 `json:"rateLimitResetSeconds,omitempty"`
	RotateOn429           *bool `json:"rotateOn429,omitempty"`
	RotateOn500           *bool `json:"rotateOn500,omitempty"`
	RotateOn502           *bool `json:"rotateOn502,omitempty"`
	RotateOn400           *bool `json:"rotateOn400,omitempty"`
	Error429Threshold     int64 `json:"error429Threshold,omitempty"`
	Error429WindowSeconds int64 `json:"error429WindowSeconds,omitempty"`
	Error500Threshold     int64 `json:"error500Threshold,omitempty"`
	Error500WindowSeconds int64 `json:"error500WindowSeconds,omitempty"`
	Error502Threshold     int64 `json:"error502Threshold,omitempty"`
	Error502WindowSeconds int64 `json:"error502WindowSeconds,omitempty"`
	Error400Threshold     int64 `json:"error400Threshold,omitempty"`
	Error400WindowSeconds int64 `json:"error400WindowSeconds,omitempty"`
}

// overrides returns the figures in the form in which the classifier uses them.
func (o RotationOverrides) overrides() classify.Overrides {
	return classify.Overrides{
		RateLimitResetSeconds: o.RateLimitResetSeconds,
		On429:                 classify.RuleOverride{On: o.RotateOn429, Threshold: o.Error429Threshold, WindowSeconds: o.Error429WindowSeconds},
		On500:                 classify.RuleOverride{On: o.RotateOn500, Threshold: o.Error500Threshold, WindowSeconds: o.Error500WindowSeconds},
		On502:                 classify.RuleOverride{On: o.RotateOn502, Threshold: o.Error502Threshold, WindowSeconds: o.Error502WindowSeconds},
		On400:                 classify.RuleOverride{On: o.RotateOn400, Threshold: o.Error400Threshold, WindowSeconds: o.Error400WindowSeconds},
	}
}

// OptionalJSON is a value in a patch for which null has a meaning: absent, or
// the JSON that was given.
type OptionalJSON struct {
	Given bool
	JSON  string
}

// JSONOf returns the value as a given one; nil is null.
func JSONOf(v any) OptionalJSON {
	raw, err := json.Marshal(v)
	if err != nil { // what JSON cannot hold is refused as what it looks like
		raw, _ = json.Marshal(fmt.Sprint(v))
	}
	return OptionalJSON{Given: true, JSON: string(raw)}
}

// MarshalJSON writes the value.
func (o OptionalJSON) MarshalJSON() ([]byte, error) {
	if o.JSON == "" {
		return []byte("null"), nil
	}
	return []byte(o.JSON), nil
}

// UnmarshalJSON takes any value.
func (o *OptionalJSON) UnmarshalJSON(data []byte) error {
	*o = OptionalJSON{Given: true, JSON: string(data)}
	return nil
}

// null reports that the value takes away what is stored.
func (o OptionalJSON) null() bool { return o.JSON == "" || o.JSON == "null" }

// value decodes what was given; what cannot be decoded is nil.
func (o OptionalJSON) value() (v any) {
	if json.Unmarshal([]byte(o.JSON), &v) != nil {
		return nil
	}
	return v
}

// Bounds of the limits (settings sheet §2.10).
const (
	maxConcurrentRequests = 100_000
	maxWindowName         = 64
	maxTags               = 50
	maxTag                = 64
	maxGroup              = 100
	maxRotationSeconds    = 30 * 24 * 3600
	maxRotationErrors     = 1000
	maxHealthCheck        = 1440 // minutes
)

// limits returns the limits of a new connection.
func (in *ConnectionInput) limits(bad *problems) Limits {
	l := Limits{
		MaxConcurrent: in.MaxConcurrent, QuotaWindowThresholds: in.QuotaWindowThresholds, RotationOverrides: in.RotationOverrides,
		Tags: distinct(in.Tags), Group: strings.TrimSpace(in.Group), HealthCheckInterval: in.HealthCheckInterval, Extras: in.Extras,
	}
	l.trim()
	if len(in.RateLimitOverrides) > 0 {
		l.overrideRates(bad, in.RateLimitOverrides)
	}
	l.check(bad)
	return l
}

// patch changes the limits by what the patch holds.
func (l *Limits) patch(bad *problems, p ConnectionPatch) {
	if p.MaxConcurrent.Given {
		n, ok := p.MaxConcurrent.value().(float64)
		switch {
		case p.MaxConcurrent.null():
			l.MaxConcurrent = 0
		case !ok || n != math.Trunc(n) || n < 0 || n > maxConcurrentRequests:
			bad.add("maxConcurrent", "a whole number from 0 to %d, or null for no cap", maxConcurrentRequests)
		default:
			l.MaxConcurrent = int(n)
		}
	}
	if p.RateLimitOverrides.Given {
		l.overrideRates(bad, p.RateLimitOverrides.value())
	}
	if p.QuotaWindowThresholds.Given {
		l.patchThresholds(bad, p.QuotaWindowThresholds)
	}
	if p.HealthCheckInterval.Given {
		l.patchHealthCheck(bad, p.HealthCheckInterval)
	}
	set(&l.RotationOverrides, p.RotationOverrides)
	if p.Tags != nil {
		l.Tags = distinct(*p.Tags)
	}
	if p.Group != nil {
		l.Group = strings.TrimSpace(*p.Group)
	}
	l.Extras.patch(bad, p)
	l.check(bad)
}

// patchHealthCheck changes how often the login is looked at; null leaves it to
// the settings.
func (l *Limits) patchHealthCheck(bad *problems, o OptionalJSON) {
	l.HealthCheckInterval = nil
	if o.null() {
		return
	}
	n, ok := o.value().(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > maxHealthCheck {
		bad.add("healthCheckInterval", "a whole number of minutes from 0 to %d, or null", maxHealthCheck)
		return
	}
	l.HealthCheckInterval = new(int64(n))
}

// overrideRates reads rateLimitOverrides; null clears them.
func (l *Limits) overrideRates(bad *problems, v any) {
	o, wrong := admission.ParseOverrides(v)
	for _, w := range wrong {
		bad.add(strings.TrimSuffix("rateLimitOverrides."+w.Field, "."), "%s", w.Text)
	}
	l.RateLimitOverrides = o
}

// patchThresholds changes single thresholds: null for all clears them, null for
// one clears that.
func (l *Limits) patchThresholds(bad *problems, o OptionalJSON) {
	const field = "quotaWindowThresholds"
	if o.null() {
		l.QuotaWindowThresholds = nil
		return
	}
	given, ok := o.value().(map[string]any)
	if !ok {
		bad.add(field, "must be an object, or null")
		return
	}
	next := maps.Clone(l.QuotaWindowThresholds)
	if next == nil {
		next = map[string]int64{}
	}
	for window, v := range given {
		n, isNumber := v.(float64)
		switch {
		case v == nil:
			delete(next, window)
		case !isNumber || n != math.Trunc(n):
			bad.add(field+"."+window, "a whole number from 0 to 100, or null")
		default:
			next[window] = int64(n)
		}
	}
	if l.QuotaWindowThresholds = next; len(next) == 0 {
		l.QuotaWindowThresholds = nil
	}
}

func (l *Limits) check(bad *problems) {
	l.Extras.check(bad)
	if l.MaxConcurrent < 0 || l.MaxConcurrent > maxConcurrentRequests {
		bad.add("maxConcurrent", "0 to %d, 0 for no cap", maxConcurrentRequests)
	}
	if n := l.HealthCheckInterval; n != nil && (*n < 0 || *n > maxHealthCheck) {
		bad.add("healthCheckInterval", "0 to %d minutes", maxHealthCheck)
	}
	for _, window := range slices.Sorted(maps.Keys(l.QuotaWindowThresholds)) {
		if n := l.QuotaWindowThresholds[window]; n < 0 || n > 100 {
			bad.add("quotaWindowThresholds."+window, "0 to 100 percent")
		}
		if window == "" || len(window) > maxWindowName {
			bad.add("quotaWindowThresholds", "a window's name has 1 to %d characters", maxWindowName)
		}
	}
	if len(l.Tags) > maxTags || slices.ContainsFunc(l.Tags, func(t string) bool { return t == "" || len(t) > maxTag }) {
		bad.add("tags", "at most %d tags of 1 to %d characters", maxTags, maxTag)
	}
	if len(l.Group) > maxGroup {
		bad.add("group", "at most %d characters", maxGroup)
	}
	o := l.RotationOverrides
	for _, n := range []int64{o.RateLimitResetSeconds, o.Error429WindowSeconds, o.Error500WindowSeconds, o.Error502WindowSeconds, o.Error400WindowSeconds} {
		if n < 0 || n > maxRotationSeconds {
			bad.add("rotationOverrides", "seconds are 0 to %d", maxRotationSeconds)
			break
		}
	}
	for _, n := range []int64{o.Error429Threshold, o.Error500Threshold, o.Error502Threshold, o.Error400Threshold} {
		if n < 0 || n > maxRotationErrors {
			bad.add("rotationOverrides", "thresholds are 0 to %d errors", maxRotationErrors)
			break
		}
	}
}
