package view

import (
	"encoding/json"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func resilience(t *testing.T, raw string) control.Resilience {
	t.Helper()
	var r control.Resilience
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func cardOf(t *testing.T, key string) KnobCard {
	t.Helper()
	for _, c := range append(ResilienceCards(), LockoutCard()) {
		if c.Key == key {
			return c
		}
	}
	t.Fatal("no card ", key)
	return KnobCard{}
}

func knobOf(t *testing.T, path string) Knob {
	t.Helper()
	key, _, _ := strings.Cut(path, ".")
	for _, k := range cardOf(t, key).Knobs() {
		if k.Path == path {
			return k
		}
	}
	t.Fatal("no knob ", path)
	return Knob{}
}

// TestEveryKnobIsASetting finds each path in the settings' own JSON form: a
// knob with a wrong name would show nothing and be refused.
func TestEveryKnobIsASetting(t *testing.T) {
	hints := `{"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":true},"apikey":{"useUpstream429BreakerHints":true}}}`
	values := flatten(resilience(t, hints))
	for k := range flatten(map[string]any{"modelLockout": control.Guide{}.ModelLockout}) {
		values[k] = nil
	}
	n := 0
	for _, c := range append(ResilienceCards(), LockoutCard()) {
		if c.About == "" || c.Title == "" {
			t.Error(c.Key, "does not say what it is about")
		}
		for _, k := range c.Knobs() {
			n++
			if _, ok := values[k.Path]; !ok {
				t.Error(k.Path, "is no setting")
			}
			if k.Kind == KnobNumber && k.Lo >= k.Hi {
				t.Error(k.Path, "has no bounds")
			}
		}
	}
	if n != 64 {
		t.Error(n, "knobs")
	}
}

func TestWaitsMayNotBeNothing(t *testing.T) {
	k := knobOf(t, "requestQueue.maxWaitMs")
	if _, wrong := k.value("0"); wrong != "More than 0, up to 86400 s." {
		t.Errorf("%q", wrong)
	}
	if v, wrong := k.value("0.001"); wrong != "" || v != int64(1) {
		t.Errorf("%v %q", v, wrong)
	}
}

func TestShownValuesAndOrigins(t *testing.T) {
	v := ResilienceValues(resilience(t, `{"connectionCooldown":{"oauth":{"baseCooldownMs":2500,"maxBackoffSteps":8},"apikey":{"useUpstream429BreakerHints":false}},
		"waitForCooldown":{"enabled":true,"maxRetryWaitSec":90},"origins":{"connectionCooldown.oauth.baseCooldownMs":"stored","providerBreaker.oauth.resetTimeoutMs":"env"}}`))
	for path, want := range map[string]string{
		"connectionCooldown.oauth.baseCooldownMs": "2.5", "connectionCooldown.oauth.maxBackoffSteps": "8",
		"connectionCooldown.apikey.useUpstream429BreakerHints": "false", "connectionCooldown.oauth.useUpstream429BreakerHints": "",
		"waitForCooldown.enabled": "true", "waitForCooldown.maxRetryWaitSec": "90",
	} {
		if got := v.Shown(knobOf(t, path)); got != want {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"connectionCooldown.oauth.baseCooldownMs": "set here", "providerBreaker.oauth.resetTimeoutMs": "from the environment", "waitForCooldown.enabled": "default",
	} {
		k := knobOf(t, path)
		if got := v.Origin(k); got != want || v.Stored(k) != (want == "set here") {
			t.Errorf("%s comes from %q, want %q", path, got, want)
		}
	}
}

func TestLockoutOriginsCompareWithTheDefaults(t *testing.T) {
	var g control.Guide
	if err := json.Unmarshal([]byte(`{"modelLockout":{"enabled":true,"errorCodes":[403,404,429,502,503,504],"baseCooldownMs":60000,"maxCooldownMs":1800000,"maxBackoffSteps":10,"useExponentialBackoff":true}}`), &g); err != nil {
		t.Fatal(err)
	}
	v := LockoutValues(g)
	for path, want := range map[string]bool{"enabled": true, "baseCooldownMs": true, "errorCodes": false, "maxCooldownMs": false, "maxBackoffSteps": false, "useExponentialBackoff": false} {
		if got := v.Stored(knobOf(t, "modelLockout."+path)); got != want {
			t.Errorf("%s stored: %v", path, got)
		}
	}
}

func TestTypingStaysWithinBounds(t *testing.T) {
	for _, c := range []struct{ path, typed, want string }{
		{"connectionCooldown.oauth.maxBackoffSteps", "33", "32"},
		{"connectionCooldown.oauth.maxBackoffSteps", "-3x", "3"},
		{"connectionCooldown.oauth.maxBackoffSteps", "2.5", "25"},
		{"connectionCooldown.oauth.baseCooldownMs", "86401", "86400"},
		{"connectionCooldown.oauth.baseCooldownMs", "2.5", "2.5"},
		{"connectionCooldown.oauth.baseCooldownMs", "2,5", "2.5"},
		{"connectionCooldown.oauth.baseCooldownMs", "1.23456", "1.234"},
		{"connectionCooldown.oauth.baseCooldownMs", "1.2.3", "1.23"},
		{"connectionCooldown.oauth.baseCooldownMs", "", ""},
		{"modelLockout.baseCooldownMs", "5000", "600"},
		{"modelLockout.baseCooldownMs", "1", "1"}, // on the way to 15
		{"modelLockout.errorCodes", "429, 5x3", "429, 53"},
	} {
		if got := knobOf(t, c.path).Typed(c.typed); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.path, c.typed, got, c.want)
		}
	}
}

func FuzzTypingSettles(f *testing.F) {
	for _, s := range []string{"", "1", "99999999999999999999", "1.5.6", ",,", "4.", "-0"} {
		f.Add(s)
	}
	cards := append(ResilienceCards(), LockoutCard())
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range cards {
			for _, k := range c.Knobs() {
				once := k.Typed(s)
				if twice := k.Typed(once); twice != once {
					t.Errorf("%s: %q becomes %q, then %q", k.Path, s, once, twice)
				}
			}
		}
	})
}

func TestPatchHoldsTheChangesOnly(t *testing.T) {
	v := ResilienceValues(resilience(t, `{"connectionCooldown":{"oauth":{"baseCooldownMs":5000,"useUpstream429BreakerHints":true},"apikey":{"baseCooldownMs":3000}}}`))
	c := cardOf(t, "connectionCooldown")
	patch, errs := c.Patch(v, map[string]string{
		"connectionCooldown.oauth.baseCooldownMs": "2.5", "connectionCooldown.apikey.baseCooldownMs": "3",
		"connectionCooldown.apikey.useUpstreamRetryHints": "true", "connectionCooldown.oauth.useUpstream429BreakerHints": "",
	})
	want := `{"connectionCooldown":{"apikey":{"useUpstreamRetryHints":true},"oauth":{"baseCooldownMs":2500,"useUpstream429BreakerHints":null}}}`
	if string(patch) != want || errs != nil {
		t.Errorf("%s %v", patch, errs)
	}
	if patch, errs := c.Patch(v, nil); patch != nil || errs != nil {
		t.Errorf("nothing was changed: %s %v", patch, errs)
	}
	if !Touches(json.RawMessage(want), "connectionCooldown.oauth.useUpstream429BreakerHints") || Touches(json.RawMessage(want), "connectionCooldown.oauth.maxBackoffSteps") {
		t.Error("what a patch touches")
	}
	if got := string(Back("a.b", "a.c")); got != `{"a":{"b":null,"c":null}}` {
		t.Error(got)
	}
	if got := string(Inner(Back("a.b"), "a")); got != `{"b":null}` {
		t.Error(got)
	}
}

func TestPatchSaysWhatIsWrong(t *testing.T) {
	v := ResilienceValues(resilience(t, `{"providerBreaker":{"oauth":{"failureThreshold":8,"degradationThreshold":5}},"providerCooldown":{"minRetryCooldownMs":5000,"maxRetryCooldownMs":300000}}`))
	for _, c := range []struct{ card, path, shown, field, want string }{
		{"providerBreaker", "providerBreaker.oauth.degradationThreshold", "8", "", "Less than where it opens."},
		{"providerBreaker", "providerBreaker.oauth.failureThreshold", "5", "providerBreaker.oauth.degradationThreshold", "Less than where it opens."},
		{"providerBreaker", "providerBreaker.oauth.failureThreshold", "0", "", "From 1 to 1000."},
		{"providerBreaker", "providerBreaker.oauth.resetTimeoutMs", "", "", "From 1 to 86400 s."},
		{"providerCooldown", "providerCooldown.maxRetryCooldownMs", "4", "providerCooldown.minRetryCooldownMs", "Not more than the longest."},
		{"modelLockout", "modelLockout.errorCodes", "42", "", "Statuses from 100 to 599, separated by commas."},
		{"modelLockout", "modelLockout.errorCodes", ",", "", "1 to 20 statuses."},
	} {
		_, errs := cardOf(t, c.card).Patch(v, map[string]string{c.path: c.shown})
		field := c.field
		if field == "" {
			field = c.path
		}
		if len(errs) != 1 || errs[0].Field != field || errs[0].Message != c.want {
			t.Errorf("%s=%q: %+v", c.path, c.shown, errs)
		}
	}
}
