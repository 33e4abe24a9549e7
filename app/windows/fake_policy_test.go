//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"maps"

	"breakwater/proxy/control"
)

// policyDefaults are the figures that hold while nothing is stored.
const policyDefaults = `{
 "connectionCooldown":{"oauth":{"baseCooldownMs":5000,"useUpstreamRetryHints":false,"maxBackoffSteps":8},"apikey":{"baseCooldownMs":3000,"useUpstreamRetryHints":true,"maxBackoffSteps":5}},
 "providerBreaker":{"oauth":{"failureThreshold":8,"degradationThreshold":5,"resetTimeoutMs":60000},"apikey":{"failureThreshold":12,"degradationThreshold":7,"resetTimeoutMs":30000}},
 "requestQueue":{"autoEnableApiKeyProviders":true,"maxWaitMs":30000,"executionMaxWaitMs":600000},
 "comboCooldownWait":{"enabled":true,"maxWaitMs":90000,"maxAttempts":5,"budgetMs":300000},
 "quotaPreflight":{"defaultThresholdPercent":2,"warnThresholdPercent":20},
 "streamRecovery":{"throughputWatchdog":{"warmupMs":30000,"windowMs":30000,"minUsefulBytesPerSecond":4,"minUsefulBytes":1}},
 "waitForCooldown":{"enabled":true,"maxRetries":5,"maxRetryWaitSec":90},
 "streamStallCooldown":{"enabled":false},
 "tokenRefreshBreaker":{"scope":"provider","failureThreshold":5,"cooldownMs":1800000},
 "quotaShareConcurrencyLimit":{"enabled":true},"p2cLatency":{"weight":0},"credentialHealthCheck":{"intervalMinutes":60},
 "failover":{"secondOpinion":true,"finalErrors":true,"slowDemotion":true,"firstByteMs":100000,"moveHistory":true,"moveCompacted":false},
 "emergencyFallback":{"enabled":true,"model":"nvidia/openai/gpt-oss-120b","maxOutputTokens":4096},
 "providerCooldown":{"enabled":false,"minRetryCooldownMs":5000,"maxRetryCooldownMs":300000}}`

const lockoutDefaults = `{"enabled":false,"errorCodes":[403,404,429,502,503,504],"baseCooldownMs":120000,"maxCooldownMs":1800000,"maxBackoffSteps":10,"useExponentialBackoff":true}`

// policyState is what the fake has stored of the resilience settings.
type policyState struct {
	stored, lockout map[string]any
	env             map[string]any // what a seed of the environment gives
	rules, defaults json.RawMessage
	patches         []string
	all             control.AllSettings
}

// over merges a patch into a document; null removes.
func over(doc, patch map[string]any) map[string]any {
	out := maps.Clone(doc)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		sub, ok := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case k == "providerQuotaOverrides" || k == "providerWindowDefaults":
			out[k] = v // replaced whole
		case ok:
			below, _ := out[k].(map[string]any)
			out[k] = over(below, sub)
		default:
			out[k] = v
		}
	}
	return out
}

func object(raw string) map[string]any {
	out := map[string]any{}
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		panic(err)
	}
	return out
}

func mark(at string, doc map[string]any, word string, out map[string]any) {
	for k, v := range doc {
		if sub, ok := v.(map[string]any); ok {
			mark(at+k+".", sub, word, out)
		} else {
			out[at+k] = word
		}
	}
}

func (f *fake) Resilience(context.Context) (control.Resilience, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	origins := map[string]any{}
	mark("", f.policy.env, "env", origins)
	mark("", f.policy.stored, "stored", origins)
	doc := over(over(object(policyDefaults), f.policy.env), f.policy.stored)
	doc["origins"] = origins
	raw, _ := json.Marshal(doc)
	var r control.Resilience
	err := json.Unmarshal(raw, &r)
	return r, err
}

func (f *fake) EditResilience(ctx context.Context, patch json.RawMessage) (control.Resilience, error) {
	f.mu.Lock()
	f.policy.patches = append(f.policy.patches, string(patch))
	if err := f.refused(); err != nil {
		f.mu.Unlock()
		return control.Resilience{}, err
	}
	f.policy.stored = over(f.policy.stored, object(string(patch)))
	f.mu.Unlock()
	return f.Resilience(ctx)
}

func (f *fake) Guide(context.Context) (control.Guide, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	doc := map[string]any{"modelLockout": over(object(lockoutDefaults), f.policy.lockout), "providerErrorRules": f.policy.rules, "providerErrorDefaults": f.policy.defaults}
	raw, _ := json.Marshal(doc)
	var g control.Guide
	err := json.Unmarshal(raw, &g)
	return g, err
}

func (f *fake) EditGuide(ctx context.Context, p control.GuidePatch) (control.Guide, error) {
	f.mu.Lock()
	raw, _ := json.Marshal(p)
	f.policy.patches = append(f.policy.patches, string(raw))
	if err := f.refused(); err != nil {
		f.mu.Unlock()
		return control.Guide{}, err
	}
	if p.ModelLockout != nil {
		f.policy.lockout = over(f.policy.lockout, object(string(p.ModelLockout)))
	}
	if p.ProviderErrorRules != nil {
		f.policy.rules = p.ProviderErrorRules
	}
	if p.ProviderErrorDefaults != nil {
		f.policy.defaults = p.ProviderErrorDefaults
	}
	f.mu.Unlock()
	return f.Guide(ctx)
}

func (f *fake) AllSettings(context.Context) (control.AllSettings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.policy.all, nil
}

func (f *fake) EditAllSettings(_ context.Context, p control.AllSettingsPatch) (control.AllSettings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(p)
	f.policy.patches = append(f.policy.patches, string(raw))
	if err := f.refused(); err != nil {
		return control.AllSettings{}, err
	}
	if p.ComboDefaults != nil {
		f.policy.all.ComboDefaults = nil // replaced whole
	}
	if p.ProviderOverrides != nil {
		f.policy.all.ProviderOverrides = nil
	}
	if p.ModelFacts != nil {
		f.policy.all.ModelFacts = nil
	}
	err := json.Unmarshal(raw, &f.policy.all)
	return f.policy.all, err
}
