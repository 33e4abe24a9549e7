package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestBreakerHintsFlag(t *testing.T) {
	on := `{"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":true}}}`
	t.Run("case 33, core case 48 unset", func(t *testing.T) {
		c := Defaults().ConnectionCooldown
		if c.OAuth.UseUpstream429BreakerHints != nil || c.APIKey.UseUpstream429BreakerHints != nil {
			t.Error("set by default")
		}
		if text, _ := json.Marshal(Defaults()); strings.Contains(string(text), "useUpstream429BreakerHints") {
			t.Error("the key is written")
		}
	})
	t.Run("case 34, core case 48 set for one class", func(t *testing.T) {
		c := patched(t, ``, on).ConnectionCooldown
		if p := c.OAuth.UseUpstream429BreakerHints; p == nil || !*p || c.APIKey.UseUpstream429BreakerHints != nil {
			t.Errorf("section = %+v", c)
		}
	})
	t.Run("case 35, core case 48 null removes it", func(t *testing.T) {
		c := patched(t, strings.Replace(on, "true", "false", 1), strings.Replace(on, "true", "null", 1)).ConnectionCooldown
		if c.OAuth.UseUpstream429BreakerHints != nil {
			t.Error("still set")
		}
	})
	t.Run("case 36 a patch without it keeps it", func(t *testing.T) {
		c := patched(t, on, `{"connectionCooldown":{"oauth":{"baseCooldownMs":1}}}`).ConnectionCooldown
		if p := c.OAuth.UseUpstream429BreakerHints; p == nil || !*p || c.OAuth.BaseCooldownMs != 1 {
			t.Errorf("section = %+v", c.OAuth)
		}
	})
	t.Run("the default by provider", func(t *testing.T) {
		s := Defaults()
		for provider, want := range map[string]bool{"openai": true, "cliproxyapi": false, "lm-studio": false, "anthropic-compatible-cc-x": false} {
			if got := s.BreakerHints(provider, APIKey); got != want {
				t.Errorf("%s: %v", provider, got)
			}
		}
		if s.BreakerHints("ollama-local", Local) {
			t.Error("on for a local provider")
		}
		off := false
		s.ConnectionCooldown.OAuth.UseUpstream429BreakerHints = &off
		if s.BreakerHints("codex", OAuth) || !s.BreakerHints("openai", APIKey) {
			t.Error("the stored switch does not decide")
		}
	})
}

func TestModelLockoutSection(t *testing.T) {
	read := func(stored string) ModelLockout {
		s, _ := Resolve(nil, []byte(stored), none)
		return s.ModelLockout
	}
	want := []int{403, 404, 429, 502, 503, 504}
	t.Run("case 46", func(t *testing.T) {
		for _, codes := range []string{`[]`, `[99,"x"]`, `"x"`} {
			if got := read(`{"errorCodes":` + codes + `}`).ErrorCodes; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v", codes, got)
			}
		}
		if got := read(`{"errorCodes":[500,500.5,600,500]}`); !reflect.DeepEqual(got.ErrorCodes, []int{500}) || !got.Lists(500) || got.Lists(403) {
			t.Errorf("codes = %v", got.ErrorCodes)
		}
	})
	t.Run("case 47", func(t *testing.T) {
		if got := read(`{"maxCooldownMs":10000,"baseCooldownMs":60000}`).MaxCooldownMs; got != 60_000 {
			t.Errorf("max = %d", got)
		}
	})
	t.Run("tolerant switches", func(t *testing.T) {
		for text, want := range map[string]bool{`true`: true, `1`: true, `"true"`: true, `"1"`: true, `0`: false, `"false"`: false, `"yes"`: false, `null`: false} {
			if got := read(`{"enabled":` + text + `}`).Enabled; got != want {
				t.Errorf("%s: %v", text, got)
			}
		}
	})
	t.Run("patches", func(t *testing.T) {
		for patch, field := range map[string]string{
			`{"enabled":true,"errorCodes":[429],"baseCooldownMs":5000,"maxCooldownMs":3600000,"maxBackoffSteps":0,"useExponentialBackoff":false}`: "",
			`{"enabled":1}`: "modelLockout.enabled", `{"baseCooldownMs":4999}`: "modelLockout.baseCooldownMs",
			`{"maxCooldownMs":3600001}`: "modelLockout.maxCooldownMs", `{"maxBackoffSteps":21}`: "modelLockout.maxBackoffSteps",
			`{"errorCodes":[99]}`: "modelLockout.errorCodes.0", `{"errorCodes":7}`: "modelLockout.errorCodes", `{"more":1}`: "modelLockout.more",
			`{"errorCodes":[` + strings.Repeat("429,", 20) + `429]}`: "modelLockout.errorCodes", `[]`: "body", `{`: "body", `{} x`: "body",
		} {
			doc, err := PatchLockout([]byte(`{"maxBackoffSteps":4}`), []byte(patch))
			if field != "" {
				wantRefused(t, err, field)
			} else if err != nil || !read(string(doc)).Enabled {
				t.Errorf("%s: %v", patch, err)
			}
		}
		doc, err := PatchLockout([]byte(`{"maxBackoffSteps":4}`), []byte(`{"maxBackoffSteps":null}`))
		if err != nil || read(string(doc)).MaxBackoffSteps != 10 {
			t.Errorf("null did not remove it: %s %v", doc, err)
		}
	})
}
