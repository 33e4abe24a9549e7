package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// scopeWords are the scopes a rule may have, as they are stored.
var scopeWords = map[string]outcome.Scope{
	"model": outcome.ScopeModel, "connection": outcome.ScopeConnection, "provider": outcome.ScopeProvider,
}

func scopeWord(s outcome.Scope) string {
	for word, scope := range scopeWords {
		if scope == s {
			return word
		}
	}
	return ""
}

// wireRule is a rule as it is stored and sent; nil fields are absent.
type wireRule struct {
	Status     *int    `json:"status,omitempty"`
	Match      *string `json:"match,omitempty"`
	Scope      string  `json:"scope"`
	Reason     string  `json:"reason,omitempty"`
	CooldownMs *int64  `json:"cooldownMs,omitempty"`
}

// MarshalJSON writes the stored form of a rule.
func (r Rule) MarshalJSON() ([]byte, error) {
	w := wireRule{Scope: scopeWord(r.Scope), Reason: string(r.Reason)}
	if r.Status != 0 {
		w.Status = &r.Status
	}
	if r.Match != "" {
		w.Match = &r.Match
	}
	if ms := r.Cooldown.Milliseconds(); ms > 0 {
		w.CooldownMs = &ms
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads one rule and refuses what Validate would.
func (r *Rule) UnmarshalJSON(data []byte) error {
	var w wireRule
	if err := strict(data, &w); err != nil {
		return err
	}
	read := Rule{Scope: scopeWords[w.Scope], Reason: outcome.Reason(w.Reason)}
	if w.Status != nil {
		if read.Status = *w.Status; read.Status == 0 {
			return errors.New("status 0 is not between 100 and 599")
		}
	}
	if w.Match != nil {
		if read.Match = *w.Match; strings.TrimSpace(read.Match) == "" {
			return errors.New("the text is empty")
		}
	}
	d, err := cooldownOf(w.CooldownMs)
	if err != nil {
		return err
	}
	read.Cooldown = d
	if err := read.Validate(); err != nil {
		return err
	}
	*r = read
	return nil
}

// wireDefault is a blanket default as it is stored and sent.
type wireDefault struct {
	CooldownMs *int64 `json:"cooldownMs"`
	Scope      string `json:"scope,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// MarshalJSON writes the stored form of a default.
func (d Default) MarshalJSON() ([]byte, error) {
	ms := d.Cooldown.Milliseconds()
	return json.Marshal(wireDefault{CooldownMs: &ms, Scope: scopeWord(d.Scope), Reason: string(d.Reason)})
}

// UnmarshalJSON reads one default and refuses what Validate would.
func (d *Default) UnmarshalJSON(data []byte) error {
	var w wireDefault
	if err := strict(data, &w); err != nil {
		return err
	}
	read := Default{Scope: outcome.ScopeConnection, Reason: outcome.Reason(w.Reason)}
	if w.Scope != "" {
		scope, ok := scopeWords[w.Scope]
		if !ok {
			return errors.New("the scope is not model, connection or provider")
		}
		read.Scope = scope
	}
	cooldown, err := cooldownOf(w.CooldownMs)
	if err != nil {
		return err
	}
	read.Cooldown = cooldown
	if err := read.Validate(); err != nil {
		return err
	}
	*d = read
	return nil
}

// cooldownOf checks stored milliseconds before they become a duration, which
// large ones would overflow.
func cooldownOf(ms *int64) (time.Duration, error) {
	if ms == nil {
		return 0, nil
	}
	if *ms < 0 || *ms > MaxRuleCooldown.Milliseconds() {
		return 0, fmt.Errorf("the cooldown is not between 0 and %d ms", MaxRuleCooldown.Milliseconds())
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// strict decodes one JSON value without unknown fields.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// ErrorRules are the operator's rules and defaults by provider, the stored
// settings providerErrorRules and providerErrorDefaults.
type ErrorRules struct {
	Rules    map[string][]Rule
	Defaults map[string]Default
}

// ParseRules reads an incoming providerErrorRules strictly: the first thing
// wrong is the error.
func ParseRules(data []byte) (map[string][]Rule, error) {
	var raw map[string][]Rule
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("providerErrorRules: %w", err)
	}
	rules, total := make(map[string][]Rule, len(raw)), 0
	for _, key := range sortedKeys(raw) {
		name, err := providerKey(key)
		if err != nil {
			return nil, fmt.Errorf("providerErrorRules: %w", err)
		}
		rules[name] = append(rules[name], raw[key]...)
		if total += len(raw[key]); total > MaxRules {
			return nil, fmt.Errorf("providerErrorRules: more than %d rules", MaxRules)
		}
	}
	return rules, nil
}

// ParseDefaults reads an incoming providerErrorDefaults strictly.
func ParseDefaults(data []byte) (map[string]Default, error) {
	var raw map[string]Default
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("providerErrorDefaults: %w", err)
	}
	defaults := make(map[string]Default, len(raw))
	for _, key := range sortedKeys(raw) {
		name, err := providerKey(key)
		if err != nil {
			return nil, fmt.Errorf("providerErrorDefaults: %w", err)
		}
		defaults[name] = raw[key]
	}
	return defaults, nil
}

// LoadErrorRules reads the two stored settings; entries that do not hold today
// are dropped, so that an old store never keeps the proxy from starting.
func LoadErrorRules(rules, defaults []byte) ErrorRules {
	e := ErrorRules{Rules: map[string][]Rule{}, Defaults: map[string]Default{}}
	var rawRules map[string][]json.RawMessage
	total := 0
	if json.Unmarshal(rules, &rawRules) == nil {
		for _, key := range sortedKeys(rawRules) {
			name, err := providerKey(key)
			for _, entry := range rawRules[key] {
				var r Rule
				if err == nil && total < MaxRules && json.Unmarshal(entry, &r) == nil {
					e.Rules[name] = append(e.Rules[name], r)
					total++
				}
			}
		}
	}
	var rawDefaults map[string]json.RawMessage
	if json.Unmarshal(defaults, &rawDefaults) == nil {
		for _, key := range sortedKeys(rawDefaults) {
			var d Default
			if name, err := providerKey(key); err == nil && json.Unmarshal(rawDefaults[key], &d) == nil {
				e.Defaults[name] = d
			}
		}
	}
	return e
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// providerKey returns the lower-case provider id of a stored key.
func providerKey(key string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(key))
	if name == "" || utf8.RuneCountInString(key) > 100 {
		return "", fmt.Errorf("%.20q is no provider", key)
	}
	return name, nil
}

// For returns the options of one connection's provider from the settings, the
// operator's rules and the connection's rotation overrides. The result is the
// same for every request until one of them changes.
func (e ErrorRules) For(provider string, s settings.Settings, o Overrides) Options {
	name := strings.ToLower(strings.TrimSpace(provider))
	opt := Options{
		Rules:       e.Rules[name],
		LockoutMax:  time.Duration(s.ModelLockout.MaxCooldownMs) * time.Millisecond,
		CoolOnStall: s.StreamStallCooldown.Enabled,
	}
	if d, ok := e.Defaults[name]; ok {
		opt.Default = &d
	}
	if q, ok := s.ProviderQuotaOverrides[name]; ok && q.RateLimitCooldownSeconds != nil {
		opt.ProviderDelay = seconds(*q.RateLimitCooldownSeconds)
	}
	return o.Apply(opt, s.Rotation)
}
