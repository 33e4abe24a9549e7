package settings

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Correction is one value that was not taken as it stood.
type Correction struct {
	Field string // dotted path
	From  string // as it stood
	To    string // as it is used
}

// Origin says where a value comes from (ruling 52).
type Origin string

// The origins.
const (
	FromDefault Origin = "default"
	FromEnv     Origin = "env"
	FromStore   Origin = "stored"
)

// Seeded returns the defaults with the environment's seeds in them.
func Seeded(env Lookup) Settings {
	s := Defaults()
	for _, l := range leaves {
		l.seed(&s, env)
	}
	seedFixed(&s.Fixed, env)
	s.Rotation = seedRotation(env)
	s.Timeouts = seedTimeouts(env)
	s, _ = Normalize(s)
	return s
}

// Resolve returns the settings in force: what is stored wins over the
// environment, and that over the defaults; RATE_LIMIT_AUTO_ENABLE alone wins
// over the store (settings sheet §0.1). The corrections tell which stored values
// were not taken as they stood. Unknown stored keys are dropped. stored and
// lockout are the JSON of the keys "resilienceSettings" and "modelLockout";
// either may be empty.
func Resolve(stored, lockout []byte, env Lookup) (Settings, []Correction) {
	s := Seeded(env)
	doc := decode(stored)
	var notes []Correction
	for _, l := range leaves {
		if v, ok := dig(doc, l.path); ok {
			notes = append(notes, l.read(&s, v)...)
		}
	}
	s.ModelLockout = readLockout(s.ModelLockout, decode(lockout), &notes)
	s, more := Normalize(s)
	if on, ok := envSwitch(env("RATE_LIMIT_AUTO_ENABLE"), false); ok {
		s.RequestQueue.AutoEnableAPIKeyProviders = on
	}
	return s, append(notes, more...)
}

// decode reads a JSON object; what is none counts as empty.
func decode(data []byte) map[string]any {
	var v any
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		return nil
	}
	return object(v)
}

// Origins returns where the value of every leaf comes from.
func Origins(stored []byte, env Lookup) map[string]Origin {
	doc, out := decode(stored), make(map[string]Origin, len(leaves))
	for _, l := range leaves {
		origin := FromDefault
		if s := Defaults(); l.seed(&s, env) {
			origin = FromEnv
		}
		if v, ok := dig(doc, l.path); ok && l.takes(v) {
			origin = FromStore
		}
		out[l.path] = origin
	}
	if _, ok := envSwitch(env("RATE_LIMIT_AUTO_ENABLE"), false); ok {
		out["requestQueue.autoEnableApiKeyProviders"] = FromEnv
	}
	return out
}

// seed puts the environment's value in, if there is a valid one.
func (l leaf) seed(s *Settings, env Lookup) bool {
	if l.env == "" {
		return false
	}
	switch text := env(l.env); {
	case l.flag != nil:
		if on, ok := envSwitch(text, l.envYes); ok {
			*l.flag(s) = on
			return true
		}
	case l.number != nil:
		if n, ok := envInteger(text, l.envLeast); ok {
			*l.number(s) = n
			return true
		}
	}
	return false
}

// takes reports whether a stored value has the right type.
func (l leaf) takes(v any) bool {
	switch {
	case l.number != nil:
		_, ok := number(v)
		return ok
	case l.flag != nil, l.tri != nil:
		_, ok := v.(bool)
		return ok
	case l.word != nil:
		_, ok := v.(string)
		return ok
	default:
		_, ok := v.(map[string]any)
		return ok
	}
}

// read puts a stored value in, as far as it can be read, and says what became
// of it otherwise. Bounds are the normaliser's affair.
func (l leaf) read(s *Settings, v any) []Correction {
	if !l.takes(v) {
		return []Correction{{l.path, show(v), l.show(s)}}
	}
	switch {
	case l.number != nil:
		before := v
		*l.number(s) = Integer(v, -1<<53, 1<<53, 0)
		if f, _ := number(v); f != float64(*l.number(s)) {
			return []Correction{{l.path, show(before), l.show(s)}}
		}
	case l.flag != nil:
		*l.flag(s) = Boolean(v, *l.flag(s))
	case l.tri != nil:
		on := v.(bool)
		*l.tri(s) = &on
	case l.word != nil:
		*l.word(s) = v.(string)
	default:
		l.custom.read(s, v)
	}
	return nil
}

func (l leaf) show(s *Settings) string {
	switch {
	case l.number != nil:
		return show(*l.number(s))
	case l.flag != nil:
		return show(*l.flag(s))
	case l.word != nil:
		return show(*l.word(s))
	default:
		return "unset"
	}
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Normalize returns s with every value within its bounds and the sections
// consistent in themselves, and what it had to change.
func Normalize(s Settings) (Settings, []Correction) {
	before := s.Clone()
	s = s.Clone()
	for _, l := range leaves {
		switch {
		case l.number != nil:
			n := l.number(&s)
			*n = min(max(*n, l.lo), l.hi)
		case l.word != nil:
			if w := l.word(&s); !l.accepts(*w) {
				*w = l.words[0]
			}
		}
	}
	for _, b := range []*BreakerProfile{&s.ProviderBreaker.OAuth, &s.ProviderBreaker.APIKey} {
		b.DegradationThreshold = max(1, min(b.DegradationThreshold, b.FailureThreshold-1))
	}
	normalizeWaits(&s)
	p := &s.ProviderCooldown
	p.MaxRetryCooldownMs = max(p.MaxRetryCooldownMs, p.MinRetryCooldownMs)
	if q := &s.QuotaPreflight; q.WarnThresholdPercent <= q.DefaultThresholdPercent {
		q.WarnThresholdPercent = min(100, q.DefaultThresholdPercent+1)
	}
	s.ModelLockout = normalizeLockout(s.ModelLockout)
	return s, differences(before, s)
}

func normalizeWaits(s *Settings) {
	w := &s.WaitForCooldown
	w.BudgetMs = max(w.BudgetMs, w.MaxRetryWaitMs())
	w.Enabled = w.Enabled && w.MaxRetries > 0 && w.MaxRetryWaitSec > 0
	c := &s.ComboCooldownWait
	c.BudgetMs = max(c.BudgetMs, c.MaxWaitMs)
	c.Enabled = c.Enabled && c.MaxWaitMs > 0 && c.MaxAttempts > 0
}

// differences lists what was changed between two trees.
func differences(a, b Settings) []Correction {
	var notes []Correction
	for _, l := range leaves {
		if from, to := l.show(&a), l.show(&b); from != to {
			notes = append(notes, Correction{l.path, from, to})
		}
	}
	if !reflect.DeepEqual(a.ModelLockout, b.ModelLockout) {
		notes = append(notes, Correction{"modelLockout", show(a.ModelLockout), show(b.ModelLockout)})
	}
	return notes
}
