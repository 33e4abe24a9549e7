package settings

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// none is an empty environment.
func none(string) string { return "" }

// env is an environment of a few variables.
func env(pairs ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func resolve(stored string, lookup Lookup) Settings {
	s, _ := Resolve([]byte(stored), nil, lookup)
	return s
}

// patched applies a patch to what is stored and resolves it.
func patched(t *testing.T, stored, patch string) Settings {
	t.Helper()
	doc, err := Patch([]byte(stored), []byte(patch))
	if err != nil {
		t.Fatalf("patch refused: %v", err)
	}
	return resolve(string(doc), none)
}

func wantRefused(t *testing.T, err error, field string) {
	t.Helper()
	var p *PatchError
	if !errors.As(err, &p) {
		t.Fatalf("error = %v, want a refusal", err)
	}
	for _, f := range p.Fields {
		if f.Field == field {
			return
		}
	}
	t.Errorf("refused for %v, want %s", p.Fields, field)
}

func TestCoercion(t *testing.T) {
	for _, c := range []struct {
		name           string
		v              any
		lo, hi, or, is int64
	}{
		{"case 1 cut towards zero", 5.9, 0, 100, 0, 5},
		{"case 2 a text", "7", 0, 100, 0, 7},
		{"case 3 no number", "nope", 0, 100, 3, 3},
		{"case 4 below", -10.0, 1, 100, 50, 1},
		{"case 5 above", 9999.0, 1, 100, 50, 100},
		{"negative cut towards zero", -5.9, -100, 100, 0, -5},
		{"null", nil, 0, 9, 4, 4},
		{"boolean", true, 0, 9, 4, 4},
		{"object", map[string]any{}, 0, 9, 4, 4},
		{"not a number", "NaN", 0, 9, 4, 4},
		{"infinite", "Inf", 0, 9, 4, 4},
		{"blank", "  ", 0, 9, 4, 4},
		{"huge", 1e300, 0, 9, 4, 9},
		{"int", 3, 0, 9, 4, 3},
		{"int64", int64(3), 0, 9, 4, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Integer(c.v, c.lo, c.hi, c.or); got != c.is {
				t.Errorf("read as %d, want %d", got, c.is)
			}
		})
	}
	t.Run("case 6 a word is no switch", func(t *testing.T) {
		if Boolean("true", false) {
			t.Error("it is")
		}
	})
	t.Run("case 7 absent takes the fallback", func(t *testing.T) {
		if !Boolean(nil, true) {
			t.Error("it does not")
		}
	})
	t.Run("case 8 a section that is no object is empty", func(t *testing.T) {
		want := resolve("", none)
		for _, bad := range []string{"null", "42", "[1]", `"x"`} {
			if got := resolve(`{"requestQueue":`+bad+`,"comboCooldownWait":`+bad+`}`, none); !reflect.DeepEqual(got, want) {
				t.Errorf("%s changed the settings", bad)
			}
		}
		for _, bad := range []string{"null", "42", "{", ""} {
			if got := resolve(bad, none); !reflect.DeepEqual(got, want) {
				t.Errorf("the document %q changed the settings", bad)
			}
		}
	})
}

func TestBreakerSections(t *testing.T) {
	for _, c := range []struct {
		name, stored string
		want         BreakerProfile
	}{
		{"case 9", `{"providerBreaker":{"oauth":{"failureThreshold":3,"degradationThreshold":10}}}`, BreakerProfile{3, 2, 60_000}},
		{"case 10, core case 46", `{"providerBreaker":{"oauth":{"failureThreshold":5,"degradationThreshold":9}}}`, BreakerProfile{5, 4, 60_000}},
		{"case 11, core case 46", `{"providerBreaker":{"oauth":{"failureThreshold":1,"degradationThreshold":9}}}`, BreakerProfile{1, 1, 60_000}},
		{"case 14", `{"providerBreaker":{"oauth":{"degradationThreshold":3}}}`, BreakerProfile{8, 3, 60_000}},
		{"bounds", `{"providerBreaker":{"oauth":{"failureThreshold":5000,"degradationThreshold":0,"resetTimeoutMs":1}}}`, BreakerProfile{1000, 1, 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := resolve(c.stored, none).ProviderBreaker.OAuth; got != c.want {
				t.Errorf("profile = %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("cases 12, 13, core case 47", func(t *testing.T) {
		for figures, ok := range map[[2]string]bool{{"1000", "999"}: true, {"5", "5"}: false, {"1001", "999"}: false, {"8", "1001"}: false, {"1", "1"}: true} {
			_, err := Patch(nil, []byte(`{"providerBreaker":{"apikey":{"failureThreshold":`+figures[0]+`,"degradationThreshold":`+figures[1]+`}}}`))
			if (err == nil) != ok {
				t.Errorf("%v: %v", figures, err)
			}
		}
	})
}

func TestWaitSections(t *testing.T) {
	combo := ComboCooldownWait{true, 90_000, 5, 300_000}
	edit := func(f func(*ComboCooldownWait)) ComboCooldownWait { c := combo; f(&c); return c }
	for _, c := range []struct {
		name, stored string
		want         ComboCooldownWait
	}{
		{"case 15 nothing stored", ``, combo},
		{"case 16 one figure", `{"maxWaitMs":2000}`, edit(func(c *ComboCooldownWait) { c.MaxWaitMs = 2000 })},
		{"case 17 no wait", `{"maxWaitMs":0}`, edit(func(c *ComboCooldownWait) { c.MaxWaitMs, c.Enabled = 0, false })},
		{"case 18 no attempts", `{"maxAttempts":0}`, edit(func(c *ComboCooldownWait) { c.MaxAttempts, c.Enabled = 0, false })},
		{"case 19, ruling 2 ceiling", `{"maxWaitMs":999999}`, edit(func(c *ComboCooldownWait) { c.MaxWaitMs = 300_000 })},
		{"case 20 the budget holds one wait", `{"maxWaitMs":5000,"budgetMs":100}`, edit(func(c *ComboCooldownWait) { c.MaxWaitMs, c.BudgetMs = 5000, 5000 })},
		{"case 21 garbage", `{"maxWaitMs":"soon","maxAttempts":null,"budgetMs":[],"enabled":"no"}`, combo},
		{"case 22 off", `{"enabled":false}`, edit(func(c *ComboCooldownWait) { c.Enabled = false })},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := ""
			if c.stored != "" {
				stored = `{"comboCooldownWait":` + c.stored + `}`
			}
			if got := resolve(stored, none).ComboCooldownWait; got != c.want {
				t.Errorf("section = %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("case 16 as a patch", func(t *testing.T) {
		if got := patched(t, `{}`, `{"comboCooldownWait":{"maxWaitMs":2000}}`).ComboCooldownWait; got.MaxWaitMs != 2000 || got.MaxAttempts != 5 {
			t.Errorf("section = %+v", got)
		}
	})
	t.Run("case 23", func(t *testing.T) {
		w := resolve(`{"waitForCooldown":{"maxRetries":3,"maxRetryWaitSec":30}}`, none).WaitForCooldown
		if !w.Enabled || w.MaxRetryWaitMs() != 30_000 {
			t.Errorf("section = %+v", w)
		}
	})
	t.Run("case 24", func(t *testing.T) {
		for _, zero := range []string{`"maxRetries":0`, `"maxRetryWaitSec":0`} {
			if resolve(`{"waitForCooldown":{"enabled":true,`+zero+`}}`, none).WaitForCooldown.Enabled {
				t.Errorf("%s leaves it enabled", zero)
			}
		}
	})
	t.Run("core case 188", func(t *testing.T) {
		for stored, want := range map[string]int64{"10000": 90_000, "999999999": 300_000} {
			if got := resolve(`{"waitForCooldown":{"budgetMs":`+stored+`}}`, none).WaitForCooldown.BudgetMs; got != want {
				t.Errorf("%s: %d, want %d", stored, got, want)
			}
		}
	})
	t.Run("core case 187 the switch", func(t *testing.T) {
		w := Defaults().WaitForCooldown
		w.Enabled = false
		if w.Allows(time.Second, time.Minute) {
			t.Error("waits although it is off")
		}
	})
}

func TestPreflightSection(t *testing.T) {
	q := func(stored string, lookup Lookup) QuotaPreflight {
		return resolve(`{"quotaPreflight":`+stored+`}`, lookup).QuotaPreflight
	}
	t.Run("case 25", func(t *testing.T) {
		if got := q(`{"defaultThresholdPercent":150}`, none).DefaultThresholdPercent; got != 99 {
			t.Errorf("cutoff = %d", got)
		}
	})
	t.Run("case 26", func(t *testing.T) {
		if got := q(`{"defaultThresholdPercent":30,"warnThresholdPercent":10}`, none).WarnThresholdPercent; got != 31 {
			t.Errorf("warn = %d", got)
		}
	})
	t.Run("case 27", func(t *testing.T) {
		if got := patched(t, ``, `{"quotaPreflight":{"defaultThresholdPercent":10}}`).QuotaPreflight; got.WarnThresholdPercent != 20 || got.DefaultThresholdPercent != 10 {
			t.Errorf("section = %+v", got)
		}
	})
	t.Run("case 28", func(t *testing.T) {
		got := q(`{"providerWindowDefaults":{"claude":{"5h":150,"7d":-20,"x":"lots","n":"12"},"codex":7,"empty":{"a":null}}}`, none).ProviderWindowDefaults
		want := map[string]map[string]int64{"claude": {"5h": 100, "7d": 0, "n": 12}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("windows = %v", got)
		}
	})
	t.Run("case 29", func(t *testing.T) {
		if q(`{"enabled":"true"}`, none).Enabled {
			t.Error("a word switched it on")
		}
	})
	t.Run("case 30", func(t *testing.T) {
		if q(`{}`, none).Enabled {
			t.Error("on by default")
		}
	})
	t.Run("case 31 the store wins over the environment", func(t *testing.T) {
		if q(`{"enabled":false}`, env("QUOTA_PREFLIGHT_CUTOFF_ENABLED", "true")).Enabled {
			t.Error("the environment won")
		}
	})
	t.Run("windows are replaced as a whole", func(t *testing.T) {
		s := patched(t, `{"quotaPreflight":{"providerWindowDefaults":{"a":{"w":5}}}}`, `{"quotaPreflight":{"providerWindowDefaults":{"b":{"w":7}}}}`)
		if got := s.QuotaPreflight.ProviderWindowDefaults; len(got) != 1 || got["b"]["w"] != 7 {
			t.Errorf("windows = %v", got)
		}
		for _, bad := range []string{`7`, `{"a":1}`, `{"a":{"w":101}}`} {
			_, err := Patch(nil, []byte(`{"quotaPreflight":{"providerWindowDefaults":`+bad+`}}`))
			if err == nil {
				t.Errorf("%s was accepted", bad)
			}
		}
	})
}

func TestSmallSections(t *testing.T) {
	t.Run("case 32, core case 52", func(t *testing.T) {
		for text, want := range map[string]bool{"true": true, "1": true, "on": true, "ON ": true, "yes": false, "off": false, "": false} {
			if got := resolve("", env("PROVIDER_COOLDOWN_ENABLED", text)).ProviderCooldown.Enabled; got != want {
				t.Errorf("%q: %v", text, got)
			}
		}
		if !resolve(`{"providerCooldown":{"enabled":true}}`, env("PROVIDER_COOLDOWN_ENABLED", "false")).ProviderCooldown.Enabled {
			t.Error("the environment won over the store")
		}
	})
	t.Run("case 37", func(t *testing.T) {
		if resolve(`{"streamRecovery":{"enabled":"yes"}}`, none).StreamRecovery.Enabled {
			t.Error("a stored word switched it on")
		}
		if !resolve("", env("STREAM_RECOVERY_ENABLED", "yes")).StreamRecovery.Enabled {
			t.Error("the environment's yes does not count")
		}
	})
	t.Run("cases 38, 39, core case 63", func(t *testing.T) {
		for patch, ok := range map[string]bool{
			`{"enabled":true}`: true, `{"minRetryCooldownMs":3000,"maxRetryCooldownMs":120000}`: true, `{"extra":1}`: false,
			`{"minRetryCooldownMs":120000,"maxRetryCooldownMs":30000}`: false, `{"minRetryCooldownMs":10000,"maxRetryCooldownMs":5000}`: false,
			`{"minRetryCooldownMs":300001}`: false, `{"maxRetryCooldownMs":3600001}`: false,
		} {
			if _, err := Patch(nil, []byte(`{"providerCooldown":`+patch+`}`)); (err == nil) != ok {
				t.Errorf("%s: %v", patch, err)
			}
		}
	})
	t.Run("case 40", func(t *testing.T) {
		got := patched(t, ``, `{"requestQueue":{"concurrentRequests":7}}`).RequestQueue
		want := Defaults().RequestQueue
		want.ConcurrentRequests = 7
		if got != want {
			t.Errorf("section = %+v", got)
		}
	})
	t.Run("case 41 the inverse: environment over store", func(t *testing.T) {
		stored := `{"requestQueue":{"autoEnableApiKeyProviders":true}}`
		for text, want := range map[string]bool{"off": false, "0": false, "false": false, "on": true, "": true, "maybe": true} {
			if got := resolve(stored, env("RATE_LIMIT_AUTO_ENABLE", text)).RequestQueue.AutoEnableAPIKeyProviders; got != want {
				t.Errorf("%q: %v", text, got)
			}
		}
	})
	t.Run("case 42, ruling 1", func(t *testing.T) {
		if got := resolve("", none).RequestQueue.MaxWaitMs; got != 30_000 {
			t.Errorf("wait = %d", got)
		}
		if _, err := Patch(nil, []byte(`{"requestQueue":{"maxWaitMs":0}}`)); err == nil {
			t.Error("0 was accepted")
		}
	})
	t.Run("case 43", func(t *testing.T) {
		for _, text := range []string{"0", "-5", "soon"} {
			if got := resolve("", env("RATE_LIMIT_MAX_WAIT_MS", text)).RequestQueue.MaxWaitMs; got != 30_000 {
				t.Errorf("%q: %d", text, got)
			}
		}
		if got := resolve("", env("RATE_LIMIT_MAX_WAIT_MS", "45000")).RequestQueue.MaxWaitMs; got != 45_000 {
			t.Errorf("a good value gives %d", got)
		}
	})
	t.Run("ruling 39", func(t *testing.T) {
		q := Defaults().RequestQueue
		if q.RequestsPerMinute != 0 || q.MinTimeBetweenRequestsMs != 0 || q.ConcurrentRequests != 0 {
			t.Errorf("limited by default: %+v", q)
		}
		if c := Cautious(q); c.RequestsPerMinute != 60 || c.MinTimeBetweenRequestsMs != 350 || c.ConcurrentRequests != 6 || c.MaxWaitMs != q.MaxWaitMs {
			t.Errorf("cautious = %+v", c)
		}
	})
	t.Run("ruling 7", func(t *testing.T) {
		for _, name := range []ProfileName{OAuth, APIKey, Local} {
			if !Defaults().Profile(name).UseUpstreamRetryHints {
				t.Errorf("%s ignores hints", name)
			}
		}
	})
	t.Run("quota overrides", func(t *testing.T) {
		got := resolve(`{"providerQuotaOverrides":{"a":{"rpm":5,"concurrency":0,"rateLimitCooldownSeconds":99999},"b":{"rpm":-1},"c":7}}`, none).ProviderQuotaOverrides
		if len(got) != 1 || *got["a"].RPM != 5 || got["a"].Concurrency != nil || *got["a"].RateLimitCooldownSeconds != 21_600 {
			t.Errorf("overrides = %+v", got)
		}
		for patch, ok := range map[string]bool{
			`{"a":{"rpm":1,"rateLimitCooldownSeconds":15}}`: true, `{}`: true, `null`: true, `{"a":{"rateLimitCooldownSeconds":21601}}`: false,
			`{"a":{"rpm":0}}`: false, `{"a":{"tpm":1}}`: false, `{"a":1}`: false, `[]`: false,
		} {
			if _, err := Patch(nil, []byte(`{"providerQuotaOverrides":`+patch+`}`)); (err == nil) != ok {
				t.Errorf("%s: %v", patch, err)
			}
		}
	})
	t.Run("token refresh", func(t *testing.T) {
		if got := resolve(`{"tokenRefreshBreaker":{"scope":"planet","failureThreshold":900}}`, none).TokenRefreshBreaker; got.Scope != "provider" || got.FailureThreshold != 100 {
			t.Errorf("section = %+v", got)
		}
		for word, ok := range map[string]bool{`"connection"`: true, `"planet"`: false, `7`: false} {
			if _, err := Patch(nil, []byte(`{"tokenRefreshBreaker":{"scope":`+word+`}}`)); (err == nil) != ok {
				t.Errorf("%s: %v", word, err)
			}
		}
	})
}
