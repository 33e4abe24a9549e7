package settings

import (
	"fmt"
	"slices"
)

// overrideField is one field of a provider's quota override.
type overrideField struct {
	name   string
	lo, hi int64
	at     func(*QuotaOverride) **int64
}

// overrideFields are all of them with their bounds. Below its bound the
// normaliser drops a field, above it clamps.
var overrideFields = []overrideField{
	{"rpm", 1, 1_000_000, func(o *QuotaOverride) **int64 { return &o.RPM }},
	{"concurrency", 1, 100_000, func(o *QuotaOverride) **int64 { return &o.Concurrency }},
	{"providerConcurrency", 0, 100_000, func(o *QuotaOverride) **int64 { return &o.ProviderConcurrency }},
	{"rateLimitCooldownSeconds", 1, 21_600, func(o *QuotaOverride) **int64 { return &o.RateLimitCooldownSeconds }},
}

// readOverrides reads providerQuotaOverrides; an entry without a valid field is
// dropped.
func readOverrides(s *Settings, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	s.ProviderQuotaOverrides = map[string]QuotaOverride{}
	for provider, raw := range m {
		entry, kept := QuotaOverride{}, false
		for _, f := range overrideFields {
			n, ok := number(object(raw)[f.name])
			if !ok || n < float64(f.lo) {
				continue
			}
			value := clampFloat(n, f.lo, f.hi)
			*f.at(&entry), kept = &value, true
		}
		if kept && provider != "" {
			s.ProviderQuotaOverrides[provider] = entry
		}
	}
}

func checkOverrides(v any, path string) []FieldError {
	m, ok := v.(map[string]any)
	if !ok {
		return []FieldError{{path, "must be an object"}}
	}
	var errs []FieldError
	for _, provider := range sortedKeys(m) {
		at := path + "." + provider
		entry, ok := m[provider].(map[string]any)
		if !ok {
			errs = append(errs, FieldError{at, "must be an object"})
			continue
		}
		for _, key := range sortedKeys(entry) {
			i := slices.IndexFunc(overrideFields, func(f overrideField) bool { return f.name == key })
			if i < 0 {
				errs = append(errs, FieldError{at + "." + key, "is not a known setting"})
				continue
			}
			errs = append(errs, checkInteger(entry[key], at+"."+key, overrideFields[i].lo, overrideFields[i].hi)...)
		}
	}
	return errs
}

// readWindows reads quotaPreflight.providerWindowDefaults; what is no number is
// pruned.
func readWindows(s *Settings, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	out := map[string]map[string]int64{}
	for provider, raw := range m {
		windows := map[string]int64{}
		for name, percent := range object(raw) {
			if f, ok := number(percent); ok {
				windows[name] = clampFloat(f, 0, 100)
			}
		}
		if len(windows) > 0 {
			out[provider] = windows
		}
	}
	s.QuotaPreflight.ProviderWindowDefaults = out
}

func checkWindows(v any, path string) []FieldError {
	m, ok := v.(map[string]any)
	if !ok {
		return []FieldError{{path, "must be an object"}}
	}
	var errs []FieldError
	for _, provider := range sortedKeys(m) {
		windows, ok := m[provider].(map[string]any)
		if !ok {
			errs = append(errs, FieldError{path + "." + provider, "must be an object"})
			continue
		}
		for _, name := range sortedKeys(windows) {
			errs = append(errs, checkInteger(windows[name], path+"."+provider+"."+name, 0, 100)...)
		}
	}
	return errs
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func checkInteger(v any, path string, lo, hi int64) []FieldError {
	f, ok := v.(float64)
	if !ok || f != float64(int64(f)) || f < float64(lo) || f > float64(hi) {
		return []FieldError{{path, fmt.Sprintf("must be a whole number from %d to %d", lo, hi)}}
	}
	return nil
}
