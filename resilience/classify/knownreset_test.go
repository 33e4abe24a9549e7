package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Sheet §3.11, step 17: a known quota reset becomes the cooldown.
func TestKnownQuotaReset(t *testing.T) {
	const reset = 3 * time.Hour
	day40 := 40 * 24 * time.Hour
	apikey, silent := settings.Defaults().Profile(settings.APIKey), settings.Defaults().Profile(settings.APIKey)
	silent.UseUpstreamRetryHints = false
	retryAfter := map[string][]string{"Retry-After": {"30"}}
	for _, tt := range []struct {
		name   string
		in     Input
		want   time.Duration
		source string
	}{
		{"step 17 a bare 429", Input{Status: 429, QuotaReset: reset}, reset, SourceQuota},
		{"step 17 a quota text", Input{Status: 429, Body: []byte(`{"error":"monthly limit, quota exceeded"}`), QuotaReset: reset}, reset, SourceQuota},
		{"step 17 a weekly text without an end", Input{Status: 429, Body: []byte(`{"error":"weekly usage limit"}`), QuotaReset: reset}, reset, SourceQuota},
		{"step 17 the ceiling of a stated wait", Input{Status: 429, QuotaReset: day40}, 30 * 24 * time.Hour, SourceQuota},
		{"step 17 nothing is known", Input{Status: 429}, apikey.BaseCooldown, ""},
		{"step 17 the upstream states another end", Input{Status: 429, Header: retryAfter, QuotaReset: reset}, 30 * time.Second, "header"},
		{"step 17 hints are off", Input{Status: 429, Header: retryAfter, Profile: silent, QuotaReset: reset}, reset, SourceQuota},
		{"step 17 the operator has a delay", Input{Status: 429, QuotaReset: reset, Options: &Options{ProviderDelay: time.Minute}}, time.Minute, ""},
		{"step 17 never for a fault of the server", Input{Status: 503, QuotaReset: reset}, apikey.BaseCooldown, ""},
		{"step 17 never for a busy account", Input{Status: 429, Body: []byte(`{"error":"too many concurrent requests"}`), QuotaReset: reset}, ConcurrencyLimitCooldown, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in.Profile.Name == "" {
				tt.in.Profile = apikey
			}
			tt.in.Provider, tt.in.Now = "openai", time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
			o := Response(tt.in)
			if o.Cooldown != tt.want || o.HintSource != tt.source {
				t.Errorf("cools for %v by %q, want %v by %q", o.Cooldown, o.HintSource, tt.want, tt.source)
			}
			if o.HintSource == SourceQuota && o.SetsLevel {
				t.Error("the ladder moved")
			}
		})
	}
	t.Run("step 17 a terminal state stays one", func(t *testing.T) {
		o := Response(Input{Status: 402, Provider: "openai", Profile: apikey, QuotaReset: reset})
		if o.Terminal != outcome.CreditsExhausted || o.HintSource == SourceQuota {
			t.Errorf("got %+v", o)
		}
	})
}
