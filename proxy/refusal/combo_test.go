package refusal

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
)

func target(provider, model string) *combo.Target {
	return &combo.Target{Spec: &combo.Spec{Provider: provider, Model: provider + "/" + model}}
}

func row(provider string, why exclusion.Reason, left time.Duration) combo.Excluded {
	e := combo.Excluded{Target: target(provider, "m"), Exclusion: exclusion.Exclusion{Reason: why}}
	if left != 0 {
		e.Until = core.Add(left)
	}
	return e
}

func TestCombo(t *testing.T) {
	tried := []Attempt{{"p", "m"}, {"q", "m"}}
	quota := failure(429, outcome.ReasonQuota, func(f *resilience.Failure) { f.Until = core.Add(secs(7)) })
	rests := []combo.Excluded{row("p", exclusion.Cooling, secs(40)), row("q", exclusion.Unavailable, 0)}
	for _, tt := range []struct {
		name     string
		client   dialect.Profile
		c        Combo
		status   int
		code     string
		terminal string
		action   string
		retry    string
		says     string
	}{
		{"too many attempts", unknown, Combo{Stop: resilience.StopAttempts, Attempts: tried}, 503, "max_attempts_exceeded", "max_attempts_exceeded", "try-auto", "", "gave up after 2 attempts"},
		{"too long", unknown, Combo{Stop: resilience.StopTimeout, Failures: []resilience.Failure{failure(500, outcome.ReasonServerError)}}, 504, "COMBO_TIMEOUT", "combo_timeout", "retry", "", "Work/m: provider, server error (HTTP 500)"},
		{"no plan", unknown, Combo{Refusal: &combo.Refusal{Status: 404, Code: "model_not_found", Type: "invalid_request_error", Message: "none", Terminal: combo.NoExecutable}}, 404, "model_not_found", "no_executable_targets", "switch-combo", "", "none"},
		{"no plan for a while", unknown, Combo{Refusal: combo.EmptyPool(core, rests), Excluded: rests}, 503, "all_targets_cooling_down", "all_targets_cooling_down", "wait", "40", "pausing"},
		{"no plan for a while, for a client that gives up on 503", claudeCode, Combo{Refusal: combo.EmptyPool(core, rests), Excluded: rests}, 429, "all_targets_cooling_down", "all_targets_cooling_down", "wait", "40", "pausing"},
		{"a fusion that only met limits", unknown, Combo{Planned: true, Sent: 2, Refusal: &combo.Refusal{Status: 502, Code: "upstream_error", Type: "api_error", Message: "no source answered."}, Failures: []resilience.Failure{limited(secs(6))}}, 429, "upstream_error", "upstream_error", "wait", "6", "no source answered (reset after 6s)"},
		{"a fusion that met a refused key (ruling 43)", unknown, Combo{Planned: true, Sent: 2, Refusal: &combo.Refusal{Status: 401, Code: "upstream_error", Type: "authentication_error", Message: "no"}, Failures: []resilience.Failure{failure(401, outcome.ReasonAuth)}}, 502, "upstream_error", "upstream_error", "retry", "", "no"},
		{"a fusion without a call", unknown, Combo{Planned: true, Refusal: &combo.Refusal{Status: 502}, Before: admission.Skipped{Code: admission.CodeAllSkipped, Status: 503}}, 503, "ALL_TARGETS_SKIPPED", "all_targets_skipped", "switch-combo", "", "every target was skipped"},
		{"our own gates", unknown, Combo{Local: &admission.Error{Code: admission.SemaphoreTimeout, Message: "full"}}, 429, "SEMAPHORE_TIMEOUT", "all_targets_skipped", "wait", "1", "local limit"},
		{"every target limited", unknown, Combo{Before: admission.Skipped{Code: admission.CodeRateLimit, Status: 429, RetryAfter: secs(8)}}, 429, "rate_limit_error", "all_targets_cooling_down", "wait", "8", "back in 8 s"},
		{"every target resting", unknown, Combo{Before: admission.Skipped{Code: admission.CodeAllCooling, Status: 503, RetryAfter: secs(8)}}, 503, "all_targets_cooling_down", "all_targets_cooling_down", "wait", "8", "back in 8 s"},
		{"every target skipped", unknown, Combo{Excluded: rests[1:], Before: admission.Skipped{Code: admission.CodeAllSkipped, Status: 503}}, 503, "ALL_TARGETS_SKIPPED", "all_targets_skipped", "switch-combo", "", "q/m (unavailable)"},
		{"every target skipped, one until a known time", unknown, Combo{Excluded: rests, Before: admission.Skipped{Code: admission.CodeAllSkipped, Status: 503}}, 429, "ALL_TARGETS_SKIPPED", "all_targets_skipped", "wait", "40", "p/m (connection cooldown)"},
		{"several kinds of failures", unknown, Combo{Planned: true, PoolSize: 3, Sent: 2, Attempts: tried, Failures: []resilience.Failure{limited(secs(6)), failure(500, outcome.ReasonServerError)}}, 502, "server_error", "all_models_failed", "try-auto", "", "rate limit exceeded (HTTP 429); Work/m: provider"},
		{"limits", unknown, Combo{Sent: 1, Failures: []resilience.Failure{limited(secs(6))}}, 429, "rate_limit_exceeded", "all_models_failed", "wait", "6", "(reset after 6s)"},
		{"used-up quota", unknown, Combo{Sent: 1, Failures: []resilience.Failure{quota}}, 429, "quota_exhausted", "quota_exhausted", "wait", "7", "(reset after 7s)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Name, tt.c.Now = "team", core
			a := request(by(tt.client)).Combo(&tt.c)
			same(t, "status", a.Status, tt.status)
			same(t, "code", has(a.Body, "error.code"), tt.code)
			same(t, "terminal reason", has(a.Body, "diagnostics.terminalReason"), tt.terminal)
			same(t, "recovery", has(a.Body, "recovery_hint.action"), tt.action)
			same(t, "recovery header", a.Header.Get("X-Omniroute-Recovery-Action"), tt.action)
			same(t, "Retry-After", a.Header.Get("Retry-After"), tt.retry)
			contains(t, has(a.Body, "error.message"), tt.says)
		})
	}
}

func TestComboNextTry(t *testing.T) {
	c := Combo{Now: core, Failures: []resilience.Failure{limited(secs(9))}, Excluded: []combo.Excluded{row("p", exclusion.Cooling, secs(4)), row("q", exclusion.BreakerOpen, -secs(1))}}
	got, ok := c.NextTry()
	same(t, "wait", got, secs(4))
	same(t, "ok", ok, true)
	_, ok = (&Combo{Now: core}).NextTry()
	same(t, "nothing", ok, false)
}

// The diagnostics are bounded, and hold nothing but their named fields.
func TestDiagnosticsAreBounded(t *testing.T) {
	c := Combo{Now: core, Name: "team", Before: admission.Skipped{Code: admission.CodeAllSkipped, Status: 503}}
	long := strings.Repeat("é", 200)
	for range maxRows + 5 {
		c.Excluded = append(c.Excluded, row(long+"\n", exclusion.Unavailable, 0))
		c.Attempts = append(c.Attempts, Attempt{Provider: long, Model: long})
	}
	a := request().Combo(&c)
	same(t, "pool", has(a.Body, "diagnostics.poolSize"), "69")
	same(t, "attempted", a.Header.Get("X-Omniroute-Combo-Attempted"), "69")
	same(t, "excluded rows", has(a.Body, "diagnostics.excluded.#"), "64")
	same(t, "attempts", has(a.Body, "diagnostics.attemptOrder.#"), "64")
	same(t, "provider", len(has(a.Body, "diagnostics.excluded.0.provider")) <= maxProvider, true)
	same(t, "model", len(has(a.Body, "diagnostics.attemptOrder.0.model")) <= maxModel, true)
	h := a.Header.Get("X-Omniroute-Combo-Excluded")
	same(t, "header", len(h) <= maxExcluded && !strings.ContainsAny(h, "\r\n"), true)
}

func TestHeaderTextIsLatin(t *testing.T) {
	same(t, "outside Latin-1", latin("a→ü\x7f\n"), "a?ü??")
	same(t, "line breaks", plain("a\r\nb", 9), "ab")
	same(t, "a cut rune", plain("aé", 2), "a")
}

func TestExclusionLog(t *testing.T) {
	c := Combo{Now: core, Refusal: &combo.Refusal{Excluded: []combo.Excluded{row("p", exclusion.Cooling, secs(39.5)), row("q", exclusion.Unavailable, 0)}}}
	same(t, "line", c.ExclusionLog(), "[COMBO] Weighted selection: every target excluded before dispatch — p/m connection_cooldown 40s, q/m unavailable")
	same(t, "no exclusions", (&Combo{Refusal: &combo.Refusal{}}).ExclusionLog(), "")
	same(t, "a plan", (&Combo{}).ExclusionLog(), "")
}
